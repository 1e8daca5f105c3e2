/* The skimmer and jansson must read the same out of every ExtenderArgs. */
#include "fuzz.h"
#include "tests/unit/request_property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        if (size <= 1 << 20)
                (void)request_property_check(data, size);
        return 0;
}
