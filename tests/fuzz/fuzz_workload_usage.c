/* A line or annotation that is accepted is within bounds, and what we write of it reads the same.
 */
#include <string.h>

#include "fuzz.h"
#include "policy/usage/pod_usage_list.h"
#include "policy/usage/workload_usage.h"

static void require_load(const struct pod_load *load) {
        require(load->of[ESTIMATE_CPU] >= 0 && load->of[ESTIMATE_CPU] <= USAGE_CORES_MAX);
        require(load->of[ESTIMATE_MEM] >= 0 && load->of[ESTIMATE_MEM] <= USAGE_BYTES_MAX);
}

static void check_workload(const char *text, size_t size) {
        struct workload_usage usage = {.pods = 42}, again;
        struct workload_usage_name name, same;
        struct error err = ERROR_NULL;
        struct buf first = BUF_INIT(8192), second = BUF_INIT(8192);
        int r = workload_usage_parse(text, size, &name, &usage, &err);

        require(err.code == r && (r < 0) == (err.msg[0] != '\0'));
        if (r < 0) {
                require(usage.pods == 42);
                return;
        }
        require_load(&usage.mean);
        require_load(&usage.max);
        workload_usage_format(&usage, name.text, name.len, &first);
        require(first.len <= WORKLOAD_USAGE_LINE_MAX);
        require(workload_usage_parse(first.data, first.len - 1, &same, &again, NULL) == 0);
        require(same.len == name.len && memcmp(same.text, name.text, name.len) == 0);
        /* From here on nothing is lost. */
        workload_usage_format(&again, same.text, same.len, &second);
        require(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
        buf_done(&first);
        buf_done(&second);
}

static void check_list(const char *text, size_t size) {
        struct pod_usage_list list = {.count = 42}, again;
        struct error err = ERROR_NULL;
        char first[POD_USAGE_TEXT_MAX], second[POD_USAGE_TEXT_MAX];
        int r = pod_usage_list_parse(text, size, &list, &err);

        require(err.code == r && (r < 0) == (err.msg[0] != '\0'));
        require(r < 0 ? list.count == 42 : list.count <= POD_USAGE_MAX);
        if (r < 0)
                return;
        for (size_t i = 0; i < list.count; i++)
                require_load(&list.pods[i].load);
        pod_usage_list_format(&list, first);
        require(pod_usage_list_parse(first, strlen(first), &again, NULL) == 0);
        pod_usage_list_format(&again, second);
        require(strcmp(first, second) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        check_workload((const char *)data, size);
        check_list((const char *)data, size);
        return 0;
}
