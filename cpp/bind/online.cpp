// The online learner for Python: batches of rows, learning, prediction, state as a dictionary of arrays.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <optional>

#include "base/index.hpp"
#include "bind/arrays.hpp"
#include "bind/run.hpp"
#include "online/learner.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace boscage;
using namespace boscage::bind;
namespace on = boscage::online;

namespace {

// Keeps the arrays of a batch alive; checked once, here.
struct RowBatch {
  on::Batch batch;
  nb::object data, indices, indptr;
};

void set_data(on::Batch& batch, const float* values) { batch.data32 = values; }
void set_data(on::Batch& batch, const double* values) { batch.data64 = values; }

template <class T>
void make_dense(RowBatch* self, In2<T> data) {
  on::Batch batch;
  batch.rows = static_cast<int64_t>(data.shape(0));
  batch.features = static_cast<int64_t>(data.shape(1));
  set_data(batch, data.data());
  on::check_batch(batch);
  new (self) RowBatch{batch, nb::cast(data), nb::none(), nb::none()};
}

template <class T>
void make_sparse(RowBatch* self, In1<T> data, In1<int32_t> indices, In1<int64_t> indptr, int64_t features) {
  if (indptr.size() == 0 || indices.size() != data.size()) throw nb::value_error("X is not a valid CSR matrix");
  if (features < 0 || features >= INT32_MAX) throw nb::value_error("X has too many columns");
  on::Batch batch;
  batch.rows = signed_size(indptr) - 1;
  batch.features = features;
  batch.indices = indices.data();
  batch.indptr = indptr.data();
  batch.entries = signed_size(data);
  set_data(batch, data.data());
  on::check_batch(batch);
  new (self) RowBatch{batch, nb::cast(data), nb::cast(indices), nb::cast(indptr)};
}

bool is_short(const on::Batch& batch) {
  return (batch.sparse() ? batch.entries : batch.rows * batch.features) < 500000;
}

void require(bool condition, const char* message) {
  if (!condition) throw nb::value_error(message);
}

void check_width(const on::Learner& learner, const on::Batch& batch) {
  require(batch.features == learner.config().features, "the batch has another number of columns than the model");
}

nb::dict to_dict(const on::Archive& archive) {
  nb::dict out;
  for (const auto& [name, array] : archive) {
    std::visit([&, &key = name](const auto& values) { out[key.c_str()] = give(values); }, array);
  }
  return out;
}

template <class T>
bool read_array(nb::handle value, on::AnyArray& out) {
  In1<T> array;
  if (!nb::try_cast(value, array, false)) return false;
  out = std::vector<T>(array.data(), array.data() + array.size());
  return true;
}

on::Archive to_archive(const nb::dict& state) {
  on::Archive archive;
  for (auto [key, value] : state) {
    on::AnyArray array;
    const bool known = read_array<int32_t>(value, array) || read_array<int64_t>(value, array) ||
                       read_array<float>(value, array) || read_array<double>(value, array);
    const auto name = nb::cast<std::string>(key);
    if (!known) throw on::BadState("the state's array '" + name + "' has the wrong type or shape");
    archive[name] = std::move(array);
  }
  return archive;
}

on::Learner from_state(const nb::dict& state) { return on::Learner(to_archive(state)); }

void check_learning(const on::Learner& learner, const on::Batch& batch, const In1<int32_t>& labels,
                    const std::optional<In1<double>>& weights, const std::optional<In1<int64_t>>& order,
                    int64_t classes) {
  check_width(learner, batch);
  require(learner.can_learn(), "this model was saved without its learning state");
  require(classes >= learner.classes() && classes < INT32_MAX - 1, "classes cannot be taken away");
  require(signed_size(labels) == batch.rows, "labels must have one entry per row");
  require(!weights || signed_size(*weights) == batch.rows, "weights must have one entry per row");
  for (int32_t label : view(labels)) require(label >= 0 && label < classes, "a label is out of range");
  if (weights) {
    for (double weight : view(*weights)) require(weight >= 0 && weight <= 1e9, "a weight is out of range");
  }
  if (order) {
    for (int64_t row : view(*order)) require(row >= 0 && row < batch.rows, "order names a row out of range");
  }
}

struct LearnOptions {
  int64_t classes;
  std::optional<In1<int64_t>> order;  // of the rows
  bool replay, keep;
};

// Learns in place. Interrupted work leaves the learner half taught: long work is for a learner that nobody else has.
// publish (None: nothing) is called when the rows are learnt, before any other Python code can run.
void learn(on::Learner& learner, const RowBatch& rows, In1<int32_t> labels, std::optional<In1<double>> weights,
           const LearnOptions& options, nb::object progress, nb::object publish) {
  const on::Batch& batch = rows.batch;
  check_learning(learner, batch, labels, weights, options.order, options.classes);
  const int64_t count = options.order ? signed_size(*options.order) : batch.rows;
  run(is_short(batch), progress, [&](Control& control) {
    learner.add_classes(options.classes - learner.classes());
    learner.learn(batch, labels.data(), weights ? weights->data() : nullptr,
                  options.order ? options.order->data() : nullptr, count, options.replay, options.keep, control);
  });
  if (!publish.is_none()) publish();
}

on::Learner copy_of(const on::Learner& learner) {
  nb::gil_scoped_release release;
  return learner;
}

on::Archive saved(const on::Learner& learner, bool resume) {
  nb::gil_scoped_release release;
  return learner.save(resume);
}

struct Order {
  std::vector<int32_t> class_at;
  on::ClassOrder view(const In1<int32_t>& column_of) const { return {column_of.data(), class_at.data()}; }
};

// column_of must be a permutation of the classes.
Order invert(const on::Learner& learner, const In1<int32_t>& column_of) {
  require(signed_size(column_of) == learner.classes(), "columns must have one entry per class");
  Order order;
  order.class_at.assign(column_of.size(), -1);
  for (size_t label = 0; label < column_of.size(); ++label) {
    const int32_t column = column_of.data()[label];
    require(column >= 0 && to_size(column) < column_of.size(), "a column is out of range");
    require(order.class_at[to_size(column)] < 0, "a column is used twice");
    order.class_at[to_size(column)] = static_cast<int32_t>(label);
  }
  return order;
}

nb::object predict_top(const on::Learner& learner, const RowBatch& rows, int64_t k, In1<int32_t> column_of,
                       bool probabilities, int threads) {
  const on::Batch& batch = rows.batch;
  check_width(learner, batch);
  require(k >= 1 && k <= learner.classes(), "k must be between 1 and the number of classes");
  const Order order = invert(learner, column_of);
  const auto size = to_size(batch.rows * k);
  std::vector<int32_t> labels(size);
  std::vector<double> shares(probabilities ? size : 0);
  run(is_short(batch), nb::none(), [&](Control& control) {
    learner.predict_top(batch, k, order.view(column_of), labels.data(), probabilities ? shares.data() : nullptr,
                        threads, control);
  });
  const std::vector<size_t> shape{to_size(batch.rows), to_size(k)};
  nb::object found = nb::cast(give(std::move(labels), shape));
  if (!probabilities) return found;
  return nb::make_tuple(found, give(std::move(shares), shape));
}

nb::ndarray<nb::numpy, double> predict_all(const on::Learner& learner, const RowBatch& rows, In1<int32_t> column_of,
                                           int threads) {
  const on::Batch& batch = rows.batch;
  check_width(learner, batch);
  const Order order = invert(learner, column_of);
  std::vector<double> out(to_size(batch.rows * learner.classes()), 0.0);
  run(is_short(batch), nb::none(),
      [&](Control& control) { learner.predict_all(batch, order.view(column_of), out.data(), threads, control); });
  return give(std::move(out), {to_size(batch.rows), to_size(learner.classes())});
}

nb::ndarray<nb::numpy, int32_t> leaves(const on::Learner& learner, const RowBatch& rows, int threads) {
  check_width(learner, rows.batch);
  require(learner.config().lomtree, "only a LOMtree has leaves");
  std::vector<int32_t> out(to_size(rows.batch.rows));
  run(is_short(rows.batch), nb::none(),
      [&](Control& control) { learner.leaves(rows.batch, out.data(), threads, control); });
  return give(std::move(out));
}

on::Learner checked_learner(const on::Config& config) {
  require(config.features >= 1 && config.features < INT32_MAX - 64, "the number of columns is out of range");
  require(config.learning_rate > 0 && config.learning_rate <= 1e6, "learning_rate is out of range");
  require(config.flat_below >= 0 && config.beam >= 1 && config.trees >= 1 && config.trees <= 1000,
          "beam, trees or flat_below is out of range");
  require(config.max_internal_nodes >= 0 && config.max_internal_nodes < INT32_MAX / 4,
          "max_internal_nodes is out of range");
  require(config.swap_resistance >= 0 && config.max_records >= 2 && config.replay >= 0, "an option is out of range");
  require(config.flood.above >= 0 && config.flood.above <= 1 && config.flood.head_start >= 0 &&
              config.flood.head_start <= 10,
          "a flood option is out of range");
  require(config.constants.sound(), "a constant is out of range");
  return on::Learner(config);
}

on::Learner online_tree(int64_t features, bool centred, uint64_t seed, double learning_rate, int64_t flat_below,
                        int64_t beam, int64_t trees, int64_t replay, double flood_above, double head_start,
                        const on::Constants& constants) {
  on::Config config;
  config.features = features;
  config.centred = centred;
  config.seed = seed;
  config.learning_rate = learning_rate;
  config.flat_below = flat_below;
  config.beam = beam;
  config.trees = trees;
  config.replay = replay;
  config.flood = {flood_above, head_start};
  config.constants = constants;
  return checked_learner(config);
}

on::Learner lomtree(int64_t features, bool centred, uint64_t seed, double learning_rate, int64_t max_internal_nodes,
                    double swap_resistance, int64_t max_records) {
  on::Config config;
  config.features = features;
  config.lomtree = true;
  config.centred = centred;
  config.seed = seed;
  config.learning_rate = learning_rate;
  config.max_internal_nodes = max_internal_nodes;
  config.swap_resistance = swap_resistance;
  config.max_records = max_records;
  return checked_learner(config);
}

}  // namespace

namespace boscage::bind {

void bind_online(nb::module_& module) {
  nb::class_<RowBatch>(module, "RowBatch", "Rows, dense or CSR, borrowed from NumPy and checked.")
      .def("__init__", &make_dense<float>, "data"_a.noconvert())
      .def("__init__", &make_dense<double>, "data"_a.noconvert())
      .def("__init__", &make_sparse<float>, "data"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(),
           "n_features"_a)
      .def("__init__", &make_sparse<double>, "data"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(),
           "n_features"_a)
      .def_prop_ro("is_short", [](const RowBatch& rows) { return is_short(rows.batch); });
  nb::class_<on::Constants>(module, "OnlineConstants", "Numbers of OnlineTreeClassifier that are not parameters.")
      .def(nb::init<>())
      .def_rw("start_square", &on::Constants::start_square)
      .def_rw("skip_below", &on::Constants::skip_below)
      .def_rw("create_above", &on::Constants::create_above)
      .def_rw("router_rate", &on::Constants::router_rate)
      .def_rw("router_skip", &on::Constants::router_skip)
      .def_rw("dense_floor", &on::Constants::dense_floor)
      .def_rw("sparse_floor", &on::Constants::sparse_floor)
      .def_rw("regrow", &on::Constants::regrow)
      .def_rw("patience", &on::Constants::patience)
      .def_rw("note_share", &on::Constants::note_share)
      .def_rw("probes", &on::Constants::probes)
      .def_rw("average_power", &on::Constants::average_power)
      .def_rw("leaf_size", &on::Constants::leaf_size)
      .def_rw("rebuild_until", &on::Constants::rebuild_until)
      .def_rw("power_rounds", &on::Constants::power_rounds)
      .def_rw("halving_rounds", &on::Constants::halving_rounds)
      .def_rw("sparse_start", &on::Constants::sparse_start);
  nb::class_<LearnOptions>(module, "LearnOptions", "How a batch is learnt.")
      .def(
          "__init__",
          [](LearnOptions* self, int64_t classes, std::optional<In1<int64_t>> order, bool replay, bool keep) {
            new (self) LearnOptions{classes, std::move(order), replay, keep};
          },
          "n_classes"_a, "order"_a.noconvert().none() = nb::none(), "replay"_a = true, "keep"_a = true);
  nb::class_<on::Learner>(module, "OnlineLearner", "The learner of OnlineTreeClassifier and LOMTreeClassifier.")
      .def_static("online_tree", &online_tree, nb::kw_only(), "features"_a, "centred"_a, "seed"_a, "learning_rate"_a,
                  "flat_below"_a, "beam"_a, "trees"_a, "replay"_a, "flood_above"_a, "head_start"_a, "constants"_a)
      .def_static("lomtree", &lomtree, nb::kw_only(), "features"_a, "centred"_a, "seed"_a, "learning_rate"_a,
                  "max_internal_nodes"_a, "swap_resistance"_a, "max_records"_a)
      .def("learn", &learn, "rows"_a, "labels"_a.noconvert(), "weights"_a.noconvert().none(), "options"_a,
           "progress"_a.none(), "publish"_a.none() = nb::none())
      .def("copy", &copy_of)
      .def("predict_top", &predict_top, "rows"_a, "k"_a, "column_of"_a.noconvert(), "probabilities"_a, "threads"_a)
      .def("predict_all", &predict_all, "rows"_a, "column_of"_a.noconvert(), "threads"_a)
      .def(
          "state", [](const on::Learner& learner, bool resume) { return to_dict(saved(learner, resume)); }, "resume"_a)
      .def("leaves", &leaves, "rows"_a, "threads"_a)
      .def_static("from_state", &from_state, "state"_a)
      .def("memory",
           [](const on::Learner& learner) {
             nb::dict out;
             for (const auto& [part, bytes] : learner.memory()) out[part.c_str()] = bytes;
             return out;
           })
      .def_prop_ro("n_classes", &on::Learner::classes)
      .def_prop_ro("n_known", &on::Learner::known)
      .def_prop_ro("n_examples", &on::Learner::examples)
      .def_prop_ro("vectors_read", &on::Learner::vectors_read)
      .def_prop_ro("vectors_written", &on::Learner::vectors_written)
      .def_prop_ro("n_features", [](const on::Learner& learner) { return learner.config().features; })
      .def_prop_ro("is_lomtree", [](const on::Learner& learner) { return learner.config().lomtree; })
      .def_prop_ro("can_learn", &on::Learner::can_learn);
}

}  // namespace boscage::bind
