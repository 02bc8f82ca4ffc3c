#include "families/mixed/node_search.hpp"

namespace boscage::mixed {

template <class Target>
void NodeSearch<Target>::run() {
  const auto& finders = data_.options.finders;
  const bool has_linear = draws_.uniform(Draw::kind) >= data_.options.axis_share;
  for (size_t i = 0; has_linear && i < finders.size() && !is_perfect(); ++i) {
    control_.check();
    draws_.offer = i + 1;
    finders[i] == Finder::axis ? offer_axis() : offer_linear(finders[i]);
  }
  draws_.offer = 0;
  if (!best_.is_test()) offer_axis();
}

template <class Target>
std::vector<int32_t> NodeSearch<Target>::constant() const {
  std::vector<int32_t> found;
  for (const int32_t column : columns_)
    if (s_.known[static_cast<size_t>(column)] == kConstant) found.push_back(column);
  return found;
}

template <class Target>
void NodeSearch<Target>::begin_best(double gain, int32_t feature) {
  best_.gain = gain;
  best_.offer = draws_.offer;
  best_.test = {};
  best_.test.feature = feature;
  best_.goes_left.resize(rows_.size());
}

template void NodeSearch<ClassTarget>::run();
template void NodeSearch<NumberTarget>::run();
template std::vector<int32_t> NodeSearch<ClassTarget>::constant() const;
template std::vector<int32_t> NodeSearch<NumberTarget>::constant() const;
template void NodeSearch<ClassTarget>::begin_best(double gain, int32_t feature);
template void NodeSearch<NumberTarget>::begin_best(double gain, int32_t feature);

}  // namespace boscage::mixed
