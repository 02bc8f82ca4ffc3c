// Growth over rows that come in passes, for every family whose search is made of sums.
//
// KnownPlace: what is known of a node, by its way from the root alone. PassGrowth: keeps the places and grows from the
// root anew whenever more of them are known, so that the order of growth needs no passes of its own. Must not know what
// a pass brings.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/index.hpp"
#include "grow/growth.hpp"

namespace boscage {

struct KnownPlace {
  bool is_solved = false;
  Proposal proposal;
  int32_t child[2] = {-1, -1};
};

template <class Place>
class PassGrowth {
 public:
  // The tree as far as it is known; finished when nothing is asked for any more.
  const Grower& grower() const { return *grower_; }

 protected:
  // The place of a node of the last replay.
  int32_t place_of(int32_t node) {
    place_of_.resize(to_size(grower_->size()), -1);
    if (node == 0) return place_of_[0] = 0;
    if (place_of_[to_size(node)] >= 0) return place_of_[to_size(node)];
    const Node& here = grower_->node(node);
    const auto above = to_size(place_of(here.parent));
    int32_t place = places_[above].child[here.is_right];
    if (place < 0) {
      place = static_cast<int32_t>(places_.size());
      places_[above].child[here.is_right] = place;
      places_.emplace_back();
    }
    return place_of_[to_size(node)] = place;
  }

  // Grows from the root with what is known, taking other leaves for final, and returns those. A leaf that can be split
  // in the end is among them or below: knowing more can only bring others before it. try_to_solve(place, node) may
  // solve a place that has what it takes.
  template <class TryToSolve>
  std::vector<int32_t> replay(Side root, const Limits& limits, Order order, TryToSolve try_to_solve) {
    grower_.emplace(std::move(root), limits, order);
    place_of_.clear();
    std::vector<int32_t> unknown;
    std::vector<Request> requests;
    while (!(requests = grower_->ask()).empty()) {
      for (const Request& request : requests) {
        Place& place = places_[to_size(place_of(request.node))];
        if (!place.is_solved) try_to_solve(place, grower_->node(request.node));
        if (!place.is_solved) unknown.push_back(request.node);
        grower_->tell(request.node, place.is_solved ? place.proposal : Proposal{});
      }
    }
    return unknown;
  }

  std::vector<int32_t> replay(Side root, const Limits& limits, Order order) {
    return replay(std::move(root), limits, order, [](Place&, const Node&) {});
  }

  std::optional<Grower> grower_;
  std::vector<Place> places_{1};

 private:
  std::vector<int32_t> place_of_;  // node of grower_ -> place
};

}  // namespace boscage
