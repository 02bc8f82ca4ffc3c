#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/rng.hpp"
#include "online/learner.hpp"
#include "tests/check.hpp"

using namespace boscage;
using namespace boscage::online;

namespace {

struct Stream {
  int64_t rows, features;
  std::vector<float> values;
  std::vector<int32_t> labels;
  Batch batch() const {
    Batch out;
    out.rows = rows;
    out.features = features;
    out.data32 = values.data();
    return out;
  }
};

// Gaussian classes around random centres.
Stream make_stream(int64_t rows, int64_t features, int64_t classes, double noise, uint64_t seed) {
  Stream out{rows, features, {}, {}};
  for (int64_t row = 0; row < rows; ++row) {
    const auto u = uniform(seed, 1, row);
    const auto label = static_cast<int32_t>(u * static_cast<double>(classes));
    out.labels.push_back(label);
    for (int64_t j = 0; j < features; ++j) {
      const double centre = normal(seed + 1, label, j);
      const double gap = noise * normal(seed + 2, row, j);
      out.values.push_back(static_cast<float>(centre + gap));
    }
  }
  return out;
}

Config config(int64_t features, bool lomtree, bool centred) {
  Config out;
  out.features = features;
  out.lomtree = lomtree;
  out.centred = centred;
  out.learning_rate = lomtree ? 0.5 : 2.0;
  out.replay = lomtree ? 0 : 4;
  return out;
}

double error_rate(const Learner& learner, const Stream& stream) {
  std::vector<int32_t> columns(static_cast<size_t>(learner.classes())), found(static_cast<size_t>(stream.rows));
  std::iota(columns.begin(), columns.end(), 0);
  Control control;
  learner.predict_top(stream.batch(), 1, {columns.data(), columns.data()}, found.data(), nullptr, 2, control);
  int64_t wrong = 0;
  for (size_t i = 0; i < found.size(); ++i) wrong += found[i] != stream.labels[i] ? 1 : 0;
  return static_cast<double>(wrong) / static_cast<double>(stream.rows);
}

Learner taught(const Config& options, const Stream& stream, int64_t classes, int passes = 1) {
  Learner learner(options);
  learner.add_classes(classes);
  Control control;
  for (int pass = 0; pass < passes; ++pass) {
    learner.learn(stream.batch(), stream.labels.data(), nullptr, nullptr, stream.rows, true, true, control);
  }
  return learner;
}

}  // namespace

TEST("dots fold sixteen lanes in one order, four rows at a time or one by one") {
  const int64_t stride = 48;
  Floats x(stride), rows(7 * stride), together(7), alone(7);
  for (int64_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(normal(1, 1, i));
  for (int64_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(normal(1, 2, i));
  dots(x.data(), rows.data(), stride, nullptr, 7, together.data());
  for (int32_t id = 0; id < 7; ++id) dots(x.data(), rows.data(), stride, &id, 1, &alone[static_cast<size_t>(id)]);
  CHECK(std::memcmp(together.data(), alone.data(), 7 * sizeof(float)) == 0);
  double exact = 0;
  for (int64_t j = 0; j < x.size(); ++j) exact += static_cast<double>(x[j]) * static_cast<double>(rows[j]);
  CHECK(std::abs(exact - static_cast<double>(together[0])) < 1e-4);
}

TEST("softmax and exp are accurate") {
  for (double x = 0; x > -80; x -= 0.37) {
    const double got = static_cast<double>(exp_negative(static_cast<float>(x)));
    const double want = std::exp(static_cast<double>(static_cast<float>(x)));
    CHECK(std::abs(got / want - 1) < 1e-6);
  }
  Floats scores{3.0f, -200.0f, 3.0f, 1e30f, 1e30f};
  softmax(scores.data(), 5);
  CHECK(scores[3] == 0.5f && scores[4] == 0.5f && scores[0] < 1e-30f);
}

TEST("branch scores are log probabilities of both children") {
  Floats parents, margins;
  for (double m = -120; m <= 120; m += 0.37) {
    margins.push_back(static_cast<float>(m));
    parents.push_back(static_cast<float>(-m * m / 1000));
  }
  Floats both(2 * margins.size());
  branch_scores(parents.data(), margins.data(), static_cast<int64_t>(margins.size()), both.data());
  for (int64_t i = 0; i < margins.size(); ++i) {
    const auto m = static_cast<double>(margins[i]), parent = static_cast<double>(parents[i]);
    const double shared = parent - std::log1p(std::exp(-std::abs(m)));
    CHECK(std::abs(static_cast<double>(both[2 * i]) - (shared - std::max(m, 0.0))) < 2e-5);
    CHECK(std::abs(static_cast<double>(both[2 * i + 1]) - (shared + std::min(m, 0.0))) < 2e-5);
  }
}

TEST("the threshold keeps the k largest, ties aside") {
  Floats values;
  for (uint64_t i = 0; i < 75; ++i) values.push_back(static_cast<float>(std::floor(8 * normal(3, 1, i)) / 4));
  std::vector<uint32_t> keys(values.size());
  sortable_keys(values.data(), 75, keys.data());
  Floats sorted = values;
  std::sort(sorted.begin(), sorted.end(), std::greater<float>());
  for (int64_t k = 1; k <= 75; ++k) {
    const uint32_t least = threshold_of(keys.data(), 75, k);
    int64_t reached = 0, above = 0;
    for (size_t i = 0; i < keys.size(); ++i) {
      reached += keys[i] >= least, above += keys[i] > least;
      CHECK((keys[i] >= least) == (values[i] >= sorted[static_cast<size_t>(k - 1)]));
    }
    CHECK(reached >= k && (above < k || reached == k));
  }
}

TEST("hashed weights keep what was put in, in any order") {
  HashedWeights cells;
  for (int32_t i = 0; i < 1000; ++i) {
    cells.reserve_more(1);
    cells.get((i * 7919) % 1000).weight = static_cast<float>((i * 7919) % 1000);
  }
  CHECK(cells.size() == 1000);
  const auto sorted = cells.sorted();
  for (int32_t i = 0; i < 1000; ++i) {
    CHECK(sorted[static_cast<size_t>(i)].feature == i);
    CHECK(cells.find(i) != nullptr && cells.find(i)->weight == static_cast<float>(i));
  }
  CHECK(cells.find(1000) == nullptr);
}

TEST("every mode learns, and prediction does not depend on threads") {
  const Stream train = make_stream(1500, 12, 40, 0.3, 5);
  const Stream test = [&] {
    Stream out = make_stream(2000, 12, 40, 0.3, 5);  // the same centres and first rows; the rest is new
    out.values.erase(out.values.begin(), out.values.begin() + 1500 * 12);
    out.labels.erase(out.labels.begin(), out.labels.begin() + 1500);
    out.rows = 500;
    return out;
  }();
  for (bool centred : {true, false}) {
    for (bool lomtree : {true, false}) {
      for (int64_t flat : {0, 160}) {
        Config options = config(12, lomtree, centred);
        options.flat_below = flat;
        options.beam = 4;
        CHECK(error_rate(taught(options, train, 40, 3), test) < (lomtree ? 0.6 : 0.1));
      }
    }
  }
}

TEST("a saved learner is the same learner") {
  const Stream stream = make_stream(400, 7, 25, 0.4, 9);
  for (bool centred : {true, false}) {
    for (bool lomtree : {true, false}) {
      Config options = config(7, lomtree, centred);
      options.flat_below = 6;
      options.beam = 3;
      Learner learner = taught(options, stream, 25);
      Learner again(learner.save(true));
      Control control;
      for (Learner* one : {&learner, &again}) {
        one->learn(stream.batch(), stream.labels.data(), nullptr, nullptr, stream.rows, true, true, control);
      }
      CHECK(learner.save(true) == again.save(true));
      Learner reader(learner.save(false));
      CHECK(!reader.can_learn());
      CHECK(error_rate(reader, stream) == error_rate(learner, stream));
    }
  }
}

TEST("a state with a missing or foreign array is refused") {
  const Stream stream = make_stream(200, 5, 10, 0.4, 3);
  for (bool lomtree : {true, false}) {
    const Archive sound = taught(config(5, lomtree, true), stream, 10).save(true);
    for (const auto& [name, array] : sound) {
      Archive broken = sound;
      broken.erase(name);
      bool refused = false;
      try {
        Learner learner(broken);
      } catch (const BadState&) {
        refused = true;
      }
      CHECK(refused);
    }
    Archive foreign = sound;
    foreign["surprise"] = std::vector<float>{1.0f};
    bool refused = false;
    try {
      Learner learner(foreign);
    } catch (const BadState&) {
      refused = true;
    }
    CHECK(refused);
  }
}

TEST("a stop request ends learning") {
  const Stream stream = make_stream(300, 5, 10, 0.4, 3);
  Learner learner(config(5, false, true));
  learner.add_classes(10);
  Control control;
  control.stop();
  bool interrupted = false;
  try {
    learner.learn(stream.batch(), stream.labels.data(), nullptr, nullptr, stream.rows, true, true, control);
  } catch (const Interrupted&) {
    interrupted = true;
  }
  CHECK(interrupted);
}
