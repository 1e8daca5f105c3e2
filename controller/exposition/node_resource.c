#include "controller/exposition/node_resource.h"

#include <math.h>

static const double ABSURD_RATIO = 1000;

static bool is_match(const struct policy_resource *resource,
                     const struct exposition_sample *sample) {
        for (size_t i = 0; i < resource->match_count; i++) {
                const struct policy_label *match = &resource->matches[i];
                const struct exposition_label *label = exposition_label(sample, match->name);
                if (label ? !exposition_label_is(label, match->value) : match->value[0] != '\0')
                        return false;
        }
        return true;
}

/* An exporter keeps the order of labels. */
static uint64_t series_id(const struct exposition_sample *sample) {
        uint64_t id = HASH_FNV1A_INIT;

        for (size_t i = 0; i < sample->label_count; i++) {
                const struct exposition_label *label = &sample->labels[i];
                id = hash_fnv1a(id, label->name, label->name_len);
                id = hash_fnv1a(id, "=", 1);
                id = hash_fnv1a(id, label->value, label->value_len);
                id = hash_fnv1a(id, "\"", 1); /* a value has it only as an escape */
        }
        return id;
}

bool node_resource_take(struct series_list *series, const struct policy_resource *resource,
                        const struct exposition_sample *sample) {
        return !is_match(resource, sample) ||
               series_list_add(series, series_id(sample), sample->value,
                               series_value_is_within(sample->value, NODE_COUNTER_MAX));
}

double node_resource_reduce(enum policy_reduce reduce, const struct series_list *series) {
        double sum = 0, largest = series->items[0].value, smallest = largest;

        for (size_t i = 0; i < series->count; i++) {
                double value = series->items[i].value;
                sum += value;
                largest = fmax(largest, value);
                smallest = fmin(smallest, value);
        }
        switch (reduce) {
        case POLICY_REDUCE_MEAN:
                return sum / (double)series->count;
        case POLICY_REDUCE_SUM:
                return sum;
        case POLICY_REDUCE_MIN:
                return smallest;
        case POLICY_REDUCE_MAX:
        default:
                return largest;
        }
}

const char *node_resource_capacity(const struct node_resource_tally *tally,
                                   const struct policy_resource *resource, double *ret) {
        double capacity = resource->capacity;

        if (resource->capacity_series[0]) {
                if (tally->capacity.count == 0)
                        return "no series on the page matches its capacitySeries";
                capacity = node_resource_reduce(resource->reduce, &tally->capacity);
        }
        if (capacity <= 0)
                return "its capacity is 0";
        *ret = capacity;
        return NULL;
}

bool node_resource_ratio(double used, double capacity, double *ret_ratio) {
        double ratio = used / capacity;

        if (ratio > ABSURD_RATIO)
                return false;
        *ret_ratio = fmin(ratio, 1);
        return true;
}
