/* A list of sources that is accepted holds what sources rely on. */
#include <string.h>

#include "controller/source/source_list.h"
#include "controller/source_kinds.h"
#include "fuzz.h"

static void check_spec(const struct source_spec *spec) {
        const struct credentials_options *credentials = &spec->credentials;
        const char *const *files = credentials->files;

        require(spec->name[0] != '\0');
        require(spec->traits.interval_ms >= 1000 && spec->traits.interval_ms <= 300000);
        require(!(spec->kind->fields & SOURCE_HAS_URL) || strncmp(spec->url, "http", 4) == 0);
        require(!files[CREDENTIALS_CERT] == !files[CREDENTIALS_KEY]);
        require(!credentials->username == !files[CREDENTIALS_PASSWORD]);
        require(!credentials->username || !files[CREDENTIALS_TOKEN]);
        require(credentials->header_count <= CREDENTIALS_MAX_HEADERS);
        for (size_t i = 0; i < credentials->header_count; i++)
                require(!strpbrk(credentials->headers[i].value, "\r\n") &&
                        !strpbrk(credentials->headers[i].name, ": \r\n"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        const struct source_list_rules rules = {.kinds = source_kinds};
        _cleanup_(source_list_freep) struct source_list *list = NULL;
        struct error err = ERROR_NULL;
        int r = source_list_parse((const char *)data, size, &rules, &list, &err);

        require((r < 0) == (err.msg[0] != '\0') && err.code == r && (r < 0) == !list);
        if (!list)
                return 0;
        require(list->ordered_count > 0 && list->count <= SOURCE_MAX);
        for (size_t i = 0; i < list->count; i++) {
                check_spec(&list->specs[i]);
                require(!list->specs[i].traits.scope.exporter == (i < list->ordered_count));
                for (size_t k = 0; k < i; k++)
                        require(strcmp(list->specs[i].name, list->specs[k].name) != 0);
        }
        return 0;
}
