/* The skimmer and jansson must read the same out of every Pod. */
#include "fuzz.h"
#include "tests/unit/fixture/pod_property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        if (size <= 1 << 20)
                (void)pod_property_check(data, size);
        return 0;
}
