// Online learners: any stream of batches; what is saved, loaded and taught further gives the same bytes; damaged
// states are refused or work.
#include "fuzz/problem.hpp"
#include "fuzz/targets.hpp"
#include "online/learner.hpp"

namespace boscage::fuzz {

namespace {

namespace on = boscage::online;

on::Config draw_config(Input& input, int64_t features) {
  on::Config config;
  config.features = features;
  config.lomtree = input.flag();
  config.centred = input.flag();
  config.seed = input.byte();
  config.learning_rate = input.choose({2.0, 0.1, 1e-6, 1e6});
  config.flat_below = input.between(0, 8);
  config.beam = input.between(1, 4);
  config.trees = input.between(1, 3);
  config.replay = input.between(0, 3);
  config.max_internal_nodes = input.between(0, 9);
  config.swap_resistance = input.choose({4.0, 0.0, 1e9});
  config.max_records = input.between(2, 6);
  config.constants.leaf_size = input.between(1, 4);
  config.constants.rebuild_until = input.choose<int64_t>({64, 0, 1});
  return config;
}

// A batch that owns its arrays.
struct Rows {
  Problem problem;
  std::vector<int64_t> offsets;
  on::Batch batch;

  Rows(Input& input, int64_t features, int32_t classes) {
    Shape shape;
    shape.may_be_missing = shape.may_have_categories = false;
    shape.most_rows = 24;
    problem.rows = input.between(0, shape.most_rows);
    problem.columns = features;
    problem.classes = classes;
    problem.is_double = input.flag();
    problem.is_sparse = input.flag();
    problem.n_categories.assign(static_cast<size_t>(features), 0);
    for (int64_t i = 0; i < problem.rows; ++i) problem.label.push_back(static_cast<int32_t>(input.byte() % classes));
    for (int64_t i = 0; input.flag() && i < problem.rows; ++i)
      problem.weight.push_back(input.choose({1.0, 0.0, 0.25, 7.0, 1e9, 1e-9}));
    problem.weight.resize(problem.weight.empty() ? 0 : static_cast<size_t>(problem.rows), 1.0);
    if (problem.is_double)
      draw_values(input, shape, problem, problem.x64);
    else
      draw_values(input, shape, problem, problem.x32);
    offsets.assign(problem.offsets.begin(), problem.offsets.end());
    batch.rows = problem.rows;
    batch.features = features;
    batch.data32 = problem.is_double ? nullptr : problem.x32.data();
    batch.data64 = problem.is_double ? problem.x64.data() : nullptr;
    if (!problem.is_sparse) return;
    batch.indices = problem.indices.data();
    batch.indptr = offsets.data();
    batch.entries = static_cast<int64_t>(problem.is_double ? problem.x64.size() : problem.x32.size());
  }
};

std::vector<double> probabilities(const on::Learner& learner, const on::Batch& batch, int threads) {
  Control control;
  std::vector<int32_t> plain(static_cast<size_t>(learner.classes()));
  std::iota(plain.begin(), plain.end(), 0);
  std::vector<double> out(static_cast<size_t>(batch.rows * learner.classes()), 0.0);
  learner.predict_all(batch, {plain.data(), plain.data()}, out.data(), threads, control);
  for (const double value : out) require(value >= 0 && value <= 1 + 1e-9, "probabilities are between 0 and 1");
  std::vector<int32_t> top(static_cast<size_t>(batch.rows));
  learner.predict_top(batch, 1, {plain.data(), plain.data()}, top.data(), nullptr, threads, control);
  for (const int32_t label : top) require(label >= 0 && label < learner.classes(), "a class that exists");
  if (learner.config().lomtree) learner.leaves(batch, top.data(), threads, control);
  return out;
}

void teach(on::Learner& learner, const Rows& rows, bool replay, bool keep) {
  Control control;
  const double* weights = rows.problem.weight.empty() ? nullptr : rows.problem.weight.data();
  learner.learn(rows.batch, rows.problem.label.data(), weights, nullptr, rows.batch.rows, replay, keep, control);
}

// One number of one array is changed.
void damage(Input& input, on::Archive& archive) {
  auto place = archive.begin();
  std::advance(place, input.between(0, static_cast<int64_t>(archive.size()) - 1));
  if (input.byte() % 8 == 0) {
    archive.erase(place);
    return;
  }
  std::visit(
      [&](auto& values) {
        using T = typename std::decay_t<decltype(values)>::value_type;
        if (values.empty() || input.byte() % 8 == 0) {
          values.resize(static_cast<size_t>(input.between(0, 40)));
          return;
        }
        auto& value = values[input.bits<uint32_t>() % values.size()];
        value = input.flag() ? input.bits<T>() : static_cast<T>(input.between(-2, 40));
      },
      place->second);
}

}  // namespace

int online(const uint8_t* data, size_t size) {
  Input input(data, size);
  const int64_t features = input.between(1, 6);
  on::Learner learner(draw_config(input, features));
  const auto classes = static_cast<int32_t>(input.between(1, 40));
  learner.add_classes(classes);
  for (int step = 0; step < 8 && !input.is_empty(); ++step) {
    const Rows rows(input, features, classes);
    try {
      on::check_batch(rows.batch);
    } catch (const std::invalid_argument&) {
      continue;  // numbers too large for single precision
    }
    teach(learner, rows, input.flag(), true);
    if (input.flag()) teach(learner, rows, input.flag(), false);  // a second pass over the same rows
    const auto found = probabilities(learner, rows.batch, 1);
    require(same_bits(found, probabilities(learner, rows.batch, 2)), "one result for any number of threads");
    try {
      const on::Learner restored(learner.save(true));
      require(same_bits(found, probabilities(restored, rows.batch, 1)), "a saved learner predicts the same");
    } catch (const on::BadState& refused) {
      require(false, refused.what());
    }
    on::Archive broken = learner.save(input.flag());
    for (int64_t changes = input.between(1, 3); changes > 0 && !broken.empty(); --changes) damage(input, broken);
    try {
      on::Learner loaded(broken);
      if (loaded.classes() > 1000 || loaded.config().features != features) continue;
      probabilities(loaded, rows.batch, 1);
      if (loaded.can_learn() && loaded.classes() >= classes) teach(loaded, rows, true, true);
    } catch (const on::BadState&) {
    }
  }
  return 0;
}

}  // namespace boscage::fuzz
