/*
 * Pages of a kubelet to steps. The input is a sequence of pages, each ended by a NUL: they are
 * fetched 15 s apart, the first byte of a page chooses which one is read. Whatever they say: shares
 * are in [0, 1], intervals are positive, and nothing is both a counter and a gauge; and so it
 * remains when what pods use is left out, which is no more than the node used. A pod is known by
 * the first letter of its name.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "controller/exposition/kubelet_pods.h"
#include "fuzz.h"

static void check_step(const struct window_step *step, const struct kubelet_clocks *clocks) {
        require((step->counters & step->gauges) == 0 && step->means == 0);
        require(step->at_mono_ms <= clocks->now_mono_ms);
        for (unsigned r = 0; r < WINDOW_MAX_CHANNELS; r++) {
                if (step->counters >> r & 1)
                        require(step->den[r] > 0 && step->num[r] >= 0 &&
                                step->num[r] <= step->den[r]);
                if (step->gauges >> r & 1)
                        require(step->num[r] >= 0 && step->num[r] <= 1);
        }
}

enum { PODS = 4 };

static struct kubelet_pod *find_pod(void *userdata, const char *namespace, size_t namespace_len,
                                    const char *name, size_t name_len) {
        struct kubelet_pod *pods = userdata;

        if (namespace_len == 0 || name_len == 0 || namespace[namespace_len - 1] == '\0')
                return NULL;
        return &pods[(uint8_t)name[0] % PODS];
}

/* As the source does. */
static void leave_out(struct kubelet_pod *pods, const char *page, size_t len, bool is_complete,
                      const struct kubelet_clocks *clocks, double cpu_cores,
                      struct window_step *step) {
        double cores = 0;

        (void)kubelet_pods_read(page, len, is_complete, clocks, find_pod, pods);
        if (!(step->counters >> METRIC_CPU & 1))
                return;
        double used = step->num[METRIC_CPU] / step->den[METRIC_CPU] * cpu_cores;
        for (size_t i = 0; i < PODS; i++) {
                double rate = kubelet_pods_rate(&pods[i], clocks);
                require(isfinite(rate) && rate >= 0);
                cores += rate;
        }
        double left_out = kubelet_pods_leave_out(cores, cpu_cores, step);
        require(left_out >= 0 && left_out <= used * (1 + 1e-9) && left_out <= cores * (1 + 1e-9));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static const struct kubelet_capacity capacity = {
                .cpu_cores = 8, .memory_bytes = 32e9, .swap_bytes = 1};
        struct kubelet_wants wants;
        struct kubelet_state state = {0};
        struct kubelet_pod pods[PODS] = {{{0}}};
        struct kubelet_clocks clocks = {.now_mono_ms = 1000000,
                                        .now_unix_ms = INT64_C(1795294586458)};

        kubelet_wants_init(&wants, size > 0 && data[0] == '#' ? UINT32_MAX
                                                              : UINT32_MAX & ~KUBELET_PRESSURE);
        while (size > 0) {
                const uint8_t *nul = memchr(data, '\0', size);
                size_t len = nul ? (size_t)(nul - data) : size;
                _cleanup_(freep) char *page = xmalloc(len);
                struct kubelet_reading reading;

                if (len > 0)
                        memcpy(page, data, len);
                enum kubelet_outcome outcome = kubelet_reading_take(
                        &state, &wants, &capacity, page, len, nul != NULL, &clocks, &reading);
                check_step(&reading.step, &clocks);
                if (outcome == KUBELET_NEW || outcome == KUBELET_REPEATED)
                        leave_out(pods, page, len, nul != NULL, &clocks, capacity.cpu_cores,
                                  &reading.step);
                check_step(&reading.step, &clocks);
                require(outcome == KUBELET_NEW ||
                        (reading.step.counters | reading.step.gauges) == 0);
                clocks.now_mono_ms += 15000;
                clocks.now_unix_ms += 15000;
                size -= nul ? len + 1 : len;
                data += nul ? len + 1 : len;
        }
        return 0;
}
