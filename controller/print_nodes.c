#include "controller/print_nodes.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "controller/print/printout.h"
#include "controller/tracked.h"

static int compare_names(const void *a, const void *b) {
        const struct tracked *const *left = a, *const *right = b;

        return strcmp((*left)->node->name, (*right)->node->name);
}

bool print_nodes(const struct print_nodes *of) {
        struct printout printout;
        size_t count = 0;
        const struct tracked *t;
        _cleanup_(freep) const struct tracked **all = xreallocarray(
                NULL, node_set_count(of->nodes) + 1, sizeof(*all));

        TRACKED_FOREACH(t, of->nodes)
        all[count++] = t;
        qsort(all, count, sizeof(*all), compare_names);
        printout_begin(&printout, of->compiled, of->output, of->is_repeated);
        for (size_t i = 0; i < count; i++) {
                struct plan_values values;
                tracked_values(all[i], of->compiled, of->bindings, of->now_mono_ms, of->now_unix_ms,
                               &values);
                struct report_row row = {.node = all[i]->node->name,
                                         .track = &all[i]->track,
                                         .values = &values,
                                         .failure = node_track_failure(&all[i]->track)};
                printout_row(&printout, &row, of->now_mono_ms, of->now_unix_ms);
        }
        return printout_end(&printout);
}
