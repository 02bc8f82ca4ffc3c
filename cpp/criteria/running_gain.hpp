// The gain of a cut while rows move from one side to the other, one class at a time.
//
// Gini and entropy need the same work for every row however many classes there are, by keeping sums of squares or of
// x log2 x; the other criteria are computed afresh. Gains by such sums are good to about 1e-12 of the potential: enough
// to choose a cut, which is then measured exactly.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/array.hpp"
#include "criteria/criteria.hpp"

namespace boscage {

// x log2 x, tabulated for whole numbers: class weights of rows that all count 1.
class EntropyTerms {
 public:
  EntropyTerms() = default;
  explicit EntropyTerms(int64_t rows) {
    table_.reserve(rows + 1);
    for (int64_t i = 0; i <= rows; ++i) table_.push_back(plain(static_cast<double>(i)));
  }
  double operator()(double x) const { return table_.empty() ? plain(x) : table_[static_cast<int64_t>(x)]; }

 private:
  static double plain(double x) { return x > 0 ? x * std::log2(x) : 0.0; }
  Array<double> table_;
};

// Both sides of a cut by class, for criterion C. Weight below 0 goes back to the right.
template <class C>
class RunningGain {
 public:
  RunningGain(const C& criterion, Span<const double> total, const EntropyTerms&)
      : criterion_(criterion), left_(total.size(), 0.0), right_(total.begin(), total.end()) {}
  void to_left(uint32_t c, double w) { left_[c] += w, right_[c] -= w; }
  double gain() const { return criterion_.gain(right_.data(), left_.data(), static_cast<int>(left_.size())); }

 private:
  const C& criterion_;
  Array<double> left_, right_;
};

// Everything starts on the right. Term: a convex function whose sum over classes gives the potential.
template <class Term>
class RunningSums {
 public:
  RunningSums(Term term, Span<const double> total)
      : term_(term), left_(total.size(), 0.0), right_(total.begin(), total.end()) {
    for (const double w : total) {
      right_terms_ += term_(w);
      right_weight_ += w;
    }
  }
  void to_left(uint32_t c, double w) {
    double &l = left_[c], &r = right_[c];
    left_terms_ -= term_(l);
    right_terms_ -= term_(r);
    l += w;
    r -= w;
    left_weight_ += w;
    right_weight_ -= w;
    left_terms_ += term_(l);
    right_terms_ += term_(r);
  }

 protected:
  Term term_;
  Array<double> left_, right_;
  double left_terms_ = 0, right_terms_ = 0, left_weight_ = 0, right_weight_ = 0;
};

struct SquareTerm {
  double operator()(double x) const { return x * x; }
};

struct EntropyTerm {
  const EntropyTerms* terms;
  double operator()(double x) const { return (*terms)(x); }
};

template <>
class RunningGain<Gini> : public RunningSums<SquareTerm> {
 public:
  RunningGain(const Gini& criterion, Span<const double> total, const EntropyTerms&)
      : RunningSums(SquareTerm{}, total), potential_(criterion.total(total.data(), static_cast<int>(total.size()))) {}
  double gain() const {
    return potential_ - (left_weight_ - left_terms_ / left_weight_) - (right_weight_ - right_terms_ / right_weight_);
  }

 private:
  double potential_;
};

template <>
class RunningGain<Entropy> : public RunningSums<EntropyTerm> {
 public:
  RunningGain(const Entropy& criterion, Span<const double> total, const EntropyTerms& terms)
      : RunningSums(EntropyTerm{&terms}, total),
        potential_(criterion.total(total.data(), static_cast<int>(total.size()))) {}
  double gain() const {
    return potential_ - (term_(left_weight_) - left_terms_) - (term_(right_weight_) - right_terms_);
  }

 private:
  double potential_;
};

}  // namespace boscage
