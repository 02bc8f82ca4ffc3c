#include <cstdint>
#include <limits>

#include "base/rng.hpp"
#include "criteria/criteria.hpp"
#include "data/number_grid.hpp"
#include "tests/check.hpp"

using namespace boscage;

namespace {

// G(q) = 4q(1 - q) in the table's layout.
std::vector<double> gini_table(int cells) {
  std::vector<double> rows;
  for (int i = 0; i <= cells; ++i) {
    const double u = std::pow(0.5, 0.25) * i / cells, q = u * u * u * u;
    rows.insert(rows.end(), {4 * q * (1 - q), 16 * u * u * u * (1 - 2 * q), 8 * std::pow(q * (1 - q), 1.5)});
  }
  return rows;
}

std::vector<AnyCriterion> all_criteria() {
  return {Gini{},
          Entropy{},
          Sqrt{},
          ModifiedGini{1},
          ModifiedGini{1.5},
          ModifiedGini{3},
          Separation{},
          Table{gini_table(1024)}};
}

double total(const AnyCriterion& any, const std::vector<double>& w) {
  return visit_classes([&](const auto& c) { return c.total(w.data(), static_cast<int>(w.size())); }, any);
}

double gain(const AnyCriterion& any, const std::vector<double>& right, const std::vector<double>& left) {
  return visit_classes([&](const auto& c) { return c.gain(right.data(), left.data(), static_cast<int>(right.size())); },
                       any);
}

double drop(const AnyCriterion& any, const std::vector<double>& right, const std::vector<double>& left) {
  return visit_classes([&](const auto& c) { return c.drop(right.data(), left.data(), static_cast<int>(right.size())); },
                       any);
}

bool near(double a, double b, double tolerance) {
  return std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
}

std::vector<double> draw(uint64_t seed, int k) {
  std::vector<double> w(static_cast<size_t>(k));
  for (int c = 0; c < k; ++c) {
    const double u = uniform(seed, 1, c);
    w[static_cast<size_t>(c)] = u < 0.2 ? 0 : std::pow(10, 4 * u);
  }
  return w;
}

std::vector<double> operator+(std::vector<double> a, const std::vector<double>& b) {
  for (size_t c = 0; c < a.size(); ++c) a[c] += b[c];
  return a;
}

std::vector<double> operator*(double s, std::vector<double> a) {
  for (double& w : a) w *= s;
  return a;
}

TEST("the gain of numbers is the fall of their total, whichever side is right") {
  const double y[] = {0.5, 0.25, 0.125, 1.0, 0.75, 0.0625}, weight[] = {1, 2, 0.5, 1, 3, 0.25};
  for (const AnyCriterion& any : {AnyCriterion(SquaredError{}), AnyCriterion(Deviance{1}), AnyCriterion(Deviance{0}),
                                  AnyCriterion(Deviance{0.6})}) {
    visit_for<Numbers>(
        [&](const auto& g) {
          double sums[3][2] = {}, report[3] = {};  // left, right, both
          for (size_t i = 0; i < 6; ++i) {
            for (const size_t side : {i % 2, size_t{2}}) {
              sums[side][0] += weight[i];
              sums[side][1] += weight[i] * y[i];
              report[side] += weight[i] * g.report(&y[i], 1);
            }
          }
          const double gain = g.gain(sums[1], sums[0], 2);
          const double fall =
              g.total(sums[2], 2, report[2]) - g.total(sums[0], 2, report[0]) - g.total(sums[1], 2, report[1]);
          CHECK(std::abs(gain - fall) < 1e-14);
          CHECK(gain == g.gain(sums[0], sums[1], 2));
          CHECK(g.gain(sums[0], sums[0], 2) <= g.noise(sums[2], 2));
        },
        any);
  }
}

TEST("a grid of numbers gives exact sums and the numbers back") {
  std::vector<double> y;
  for (int i = 0; i < 1000; ++i) y.push_back(1e9 + std::sin(i) * std::pow(10.0, i % 7));
  Target target;
  target.number = y;
  target.outputs = 1;
  const auto grid = range_of(target).grid(SquaredError{});
  double forward = 0, backward = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    const double v = grid->value(y[i], 0, 1);
    CHECK(std::abs(v) <= 1);
    CHECK(std::abs(grid->number(v, 0, range_of(target).outputs[0]) - y[i]) <= 1e-6);
    forward += v;
    backward += grid->value(y[y.size() - 1 - i], 0, 1);
  }
  CHECK(forward == backward);
  CHECK(grid->value(y[3], 0, 5) == 5 * grid->value(y[3], 0, 1));
}

}  // namespace

TEST("two equal classes have the printed values, a pure node none") {
  const std::vector<double> half{3, 3}, pure{0, 7, 0};
  const double expected[] = {0.5, 1, 1, 1, std::sqrt(2.0) - std::sqrt(0.5), std::sqrt(5.0) - std::sqrt(2.0), 1, 1};
  const auto all = all_criteria();
  for (size_t i = 0; i < all.size(); ++i) {
    CHECK(near(total(all[i], half), 6 * expected[i], 1e-12));
    CHECK(total(all[i], pure) == 0);
    CHECK(total(all[i], {0, 0}) == 0);
  }
}

TEST("the drop is the difference of totals where that difference has digits") {
  for (const auto& any : all_criteria()) {
    for (uint64_t seed = 0; seed < 300; ++seed) {
      const int k = 1 + static_cast<int>(seed % 6);
      const auto right = draw(2 * seed, k), left = draw(2 * seed + 1, k);
      const double plain = total(any, right + left) - total(any, right) - total(any, left);
      const double precise = drop(any, right, left);
      // An empty side is no split, whatever the totals say.
      if (detail::sum(right.data(), k) == 0 || detail::sum(left.data(), k) == 0) {
        CHECK(precise == 0);
      } else {
        CHECK(std::abs(precise - plain) <= 1e-8 * total(any, right + left) + 1e-300);
      }
      CHECK(gain(any, right, left) >= 0);
      CHECK(gain(any, right, left) == gain(any, left, right));
    }
  }
}

TEST("gain and total scale with the weights, up to the ends of double") {
  for (const auto& any : all_criteria()) {
    for (uint64_t seed = 0; seed < 60; ++seed) {
      const int k = 2 + static_cast<int>(seed % 4);
      const auto right = draw(2 * seed + 1000, k), left = draw(2 * seed + 1001, k);
      for (int power : {-960, -500, -200, 200, 500, 960}) {
        const double s = std::ldexp(1.0, power);
        CHECK(near(gain(any, s * right, s * left), s * gain(any, right, left), 1e-13));
        CHECK(near(total(any, s * right), s * total(any, right), 1e-13));
      }
    }
  }
}

TEST("tiny signals keep their digits") {
  // Children of equal size whose class shares differ by t: the drop is |W| t^2 (-G'')/8 up to terms in t^4.
  const double n = 1 << 20;
  for (int power : {10, 20, 30}) {
    const double t = std::ldexp(1.0, -power);
    const std::vector<double> right{n * (1 + t), n * (1 - t)}, left{n * (1 - t), n * (1 + t)};
    CHECK(near(gain(Gini{}, right, left), 4 * n * t * t / 2, 1e-12));
    CHECK(near(gain(Entropy{}, right, left), 4 * n * t * t / 2 * detail::bits_per_nat, t * t + 1e-12));
    CHECK(near(gain(Sqrt{}, right, left), 4 * n * t * t / 2, t * t + 1e-12));
    CHECK(near(gain(Table{gini_table(1024)}, right, left), 4 * n * t * t, 1e-4));
  }
}

TEST("a split without signal gains exactly nothing, and neither does an empty side") {
  for (const auto& any : all_criteria()) {
    CHECK(gain(any, {3, 6}, {1, 2}) == 0);
    CHECK(gain(any, {0, 0, 0}, {1, 2, 3}) == 0);
    CHECK(gain(any, {1, 2, 3}, {0, 0, 0}) == 0);
    CHECK(gain(any, {0, 5}, {0, 9}) == 0);
    CHECK(gain(any, {5}, {9}) == 0);
  }
}

TEST("criteria are made by name, and wrong names, parameters and tables are refused") {
  for (std::string_view name : {"gini", "entropy", "sqrt", "modified_gini", "separation"}) {
    const AnyCriterion any = make_criterion(name, 2, {});
    CHECK(visit_classes([](const auto& c) { return c.name; }, any) == name);
  }
  CHECK(std::holds_alternative<Table>(make_criterion("table", 0, gini_table(4))));
  const auto refused = [](std::string_view name, double parameter, std::vector<double> table) {
    try {
      make_criterion(name, parameter, table);
    } catch (const std::invalid_argument&) {
      return true;
    }
    return false;
  };
  CHECK(refused("foo", 0, {}));
  CHECK(refused("modified_gini", 0.5, {}));
  CHECK(refused("modified_gini", std::numeric_limits<double>::quiet_NaN(), {}));
  CHECK(refused("table", 0, {1, 2, 3}));
  CHECK(refused("table", 0, {1, 2, 3, 4, 5, 6, 7}));
}
