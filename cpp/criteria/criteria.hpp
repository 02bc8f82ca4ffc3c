// Every criterion, and what a criterion must offer. The same roster as criteria.py.
//
// A criterion is a pure function of a node's sums: it knows no rows, features or trees. To add one, write a struct with
// the members that `ClassCriterion` or `NumberCriterion` asks for, and add it to AnyCriterion and make_criterion.
#pragma once

#include <cmath>
#include <concepts>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/array.hpp"
#include "criteria/class_criteria.hpp"
#include "criteria/number_criteria.hpp"

namespace boscage {

template <class C>
concept SumCriterion = requires(const C& criterion, const double* sums, int k) {
  typename C::Target;
  { criterion.gain(sums, sums, k) } -> std::same_as<double>;
};

template <class C>
concept ClassCriterion = SumCriterion<C> && std::same_as<typename C::Target, Classes> &&
                         requires(const C& criterion, const double* w, int k) {
                           { criterion.total(w, k) } -> std::same_as<double>;
                           { criterion.drop(w, w, k) } -> std::same_as<double>;
                         };

template <class C>
concept NumberCriterion =
    std::derived_from<typename C::Target, Numbers> && requires(const C& criterion, const double* sums, int k) {
      { C::is_centred } -> std::convertible_to<bool>;
      { criterion.degree() } -> std::same_as<double>;
      { criterion.noise(sums, k) } -> std::same_as<double>;
      { criterion.report(sums, k) } -> std::same_as<double>;
      { criterion.report_exponent(k) } -> std::same_as<int>;
      { criterion.total(sums, k, 0.0) } -> std::same_as<double>;
    } && (std::same_as<typename C::Target, Ranks> || (SumCriterion<C> && requires {
            { C::may_refuse } -> std::convertible_to<bool>;
          }));

using AnyCriterion =
    std::variant<Gini, Entropy, Sqrt, ModifiedGini, Separation, Table, SquaredError, Deviance, Quantile>;

namespace detail {

template <class... C>
constexpr bool all_are_criteria(const std::variant<C...>*) {
  static_assert(((ClassCriterion<C> || NumberCriterion<C>) && ...),
                "A criterion of classes needs Target = Classes, total, gain and drop; one of numbers needs Target = "
                "Numbers, is_centred, may_refuse, gain, noise, report, report_exponent, total and degree. See the "
                "comments at the top of class_criteria.hpp and number_criteria.hpp.");
  return true;
}
static_assert(all_are_criteria(static_cast<const AnyCriterion*>(nullptr)));

}  // namespace detail

// visit(criterion) for criteria of one target: Classes, Numbers or Ranks.
template <class Target, class Visit>
auto visit_for(Visit&& visit, const AnyCriterion& criterion) {
  using Any = std::conditional_t<std::is_same_v<Target, Classes>, Gini,
                                 std::conditional_t<std::is_same_v<Target, Numbers>, SquaredError, Quantile>>;
  return std::visit(
      [&](const auto& found) -> std::invoke_result_t<Visit, const Any&> {
        if constexpr (std::is_same_v<typename std::remove_cvref_t<decltype(found)>::Target, Target>) {
          return visit(found);
        } else {
          throw std::invalid_argument("the criterion is not one of this target");
        }
      },
      criterion);
}

// Searches that know nothing of numbers use this.
template <class Visit>
auto visit_classes(Visit&& visit, const AnyCriterion& criterion) {
  return visit_for<Classes>(visit, criterion);
}

// visit(criterion) for criteria of numbers, by sums or by ranks.
template <class Visit>
auto visit_numbers(Visit&& visit, const AnyCriterion& criterion) {
  if (const auto* quantile = std::get_if<Quantile>(&criterion)) return visit(*quantile);
  return visit_for<Numbers>(visit, criterion);
}

inline bool is_of_numbers(const AnyCriterion& criterion) {
  return std::visit([](const auto& found) { return NumberCriterion<std::remove_cvref_t<decltype(found)>>; }, criterion);
}

// A gain up to this is rounding: a cut worth no more counts as worth nothing.
inline double noise_of(const AnyCriterion& criterion, Span<const double> sums) {
  const auto k = static_cast<int>(sums.size());
  return std::visit(
      [&](const auto& found) {
        if constexpr (ClassCriterion<std::remove_cvref_t<decltype(found)>>) {
          return 1e-13 * found.total(sums.data(), k);
        } else {
          return found.noise(sums.data(), k);
        }
      },
      criterion);
}

// A gain of values in units of 2^exponent in the units of the values themselves.
inline double in_units(const AnyCriterion& criterion, double gain, int exponent) {
  const double power = visit_numbers([](const auto& found) { return found.degree(); }, criterion) * exponent;
  return power == std::floor(power) ? std::ldexp(gain, static_cast<int>(power)) : gain * std::exp2(power);
}

// parameter: C of ModifiedGini, power of tweedie, q of quantile; table: rows (G, dG/du, curvature) of Table; others
// ignore both.
inline AnyCriterion make_criterion(std::string_view name, double parameter, Span<const double> table) {
  if (name == Gini::name) return Gini{};
  if (name == Entropy::name) return Entropy{};
  if (name == Sqrt::name) return Sqrt{};
  if (name == ModifiedGini::name) {
    if (!(parameter >= 1)) throw std::invalid_argument("modified_gini needs C >= 1");
    return ModifiedGini{parameter};
  }
  if (name == Separation::name) return Separation{};
  if (name == Table::name) {
    if (table.size() < 2 * Table::width || table.size() % Table::width != 0)
      throw std::invalid_argument("a criterion's table needs at least two rows of three numbers");
    return Table{Array<double>(table.begin(), table.end())};
  }
  if (name == SquaredError::name) return SquaredError{};
  if (name == "tweedie") {
    if (!(parameter >= 1 && parameter <= 2)) throw std::invalid_argument("tweedie needs a power from 1 to 2");
    return Deviance{2 - parameter};
  }
  if (name == "quantile" || name == "absolute_error") {
    if (!(parameter > 0 && parameter < 1)) throw std::invalid_argument("a quantile needs q between 0 and 1");
    return Quantile{parameter, name == "quantile" ? 1.0 : 2.0};
  }
  throw std::invalid_argument("unknown criterion: " + std::string(name));
}

}  // namespace boscage
