/*
 * Pages of a kubelet to steps. The input is a sequence of pages, each ended by a NUL: they are
 * fetched 15 s apart, the first byte of a page chooses which one is read. Whatever they say: shares
 * are in [0, 1], intervals are positive, and nothing is both a counter and a gauge.
 */
#include <string.h>

#include "base/mem.h"
#include "controller/exposition/kubelet_reading.h"
#include "fuzz.h"

static void check(bool condition) {
        if (!condition)
                abort();
}

static void check_step(const struct window_step *step, const struct kubelet_clocks *clocks) {
        check((step->counters & step->gauges) == 0 && step->means == 0);
        check(step->at_mono_ms <= clocks->now_mono_ms);
        for (unsigned r = 0; r < WINDOW_MAX_CHANNELS; r++) {
                if (step->counters >> r & 1)
                        check(step->den[r] > 0 && step->num[r] >= 0 &&
                              step->num[r] <= step->den[r]);
                if (step->gauges >> r & 1)
                        check(step->num[r] >= 0 && step->num[r] <= 1);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static const struct kubelet_capacity capacity = {
                .cpu_cores = 8, .memory_bytes = 32e9, .swap_bytes = 1};
        struct kubelet_wants wants;
        struct kubelet_state state = {0};
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
                check(outcome == KUBELET_NEW || (reading.step.counters | reading.step.gauges) == 0);
                clocks.now_mono_ms += 15000;
                clocks.now_unix_ms += 15000;
                size -= nul ? len + 1 : len;
                data += nul ? len + 1 : len;
        }
        return 0;
}
