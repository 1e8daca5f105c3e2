#include "controller/source/source_file.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"
#include "codec/tree.h"
#include "net/file_watch.h"

struct source_file {
        struct source_file_options options;
        struct file_watch *watch;
        struct source_list *list; /* in force */
        struct health_check *check;
        struct metrics_series *is_failed;
};

/* @problem: why the latest file is not in force; NULL: it is */
static void show_list(const struct source_file *file, const char *problem) {
        metrics_set(file->is_failed, problem != NULL);
        health_pass(file->check, "%s, %zu source%s%s%s", file->options.path, file->list->count,
                    number_plural(file->list->count),
                    problem ? "; cannot load the latest file: " : "", problem ? problem : "");
}

static void on_sources_file(void *userdata, const char *path) {
        struct source_file *file = userdata;
        struct source_list *list = NULL;
        struct error err = ERROR_NULL;

        if (source_list_load(path, &file->options.rules, &list, &err) < 0) {
                log_error(MSG("cannot load sources, keeping the previous ones"), ERR(&err));
                show_list(file, err.msg);
                return;
        }
        if (tree_is_same(tree_root(list->document), tree_root(file->list->document))) {
                /* To begin again would cost every node an interval. */
                source_list_free(list);
                log_info(MSG("sources have not changed"), STR("from", path));
        } else {
                file->options.on_list(file->options.userdata, list);
                source_list_free(file->list);
                file->list = list;
                log_info(MSG("sources are in force"), STR("from", path),
                         INT("sources", list->count));
        }
        show_list(file, NULL);
}

int source_file_new(const struct source_file_options *options, struct source_file **ret,
                    const struct source_list **ret_list, struct error *err) {
        _cleanup_(source_file_freep) struct source_file *file = xcalloc(1, sizeof(*file));

        file->options = *options;
        /* Watch before reading, so that no change is missed. */
        file->watch = file_watch_new(options->loop, options->path, on_sources_file, file);
        int r = source_list_load(options->path, &options->rules, &file->list, err);
        if (r < 0)
                return r;
        file->check = health_add(options->health, "sources file", "");
        file->is_failed = metrics_gauge(
                options->metrics, "plimsoll_sources_failed",
                "1 while the file of --sources cannot be loaded and the previous sources run.",
                NULL);
        show_list(file, NULL);
        *ret_list = file->list;
        *ret = TAKE_PTR(file);
        return 0;
}

void source_file_reload(struct source_file *file) {
        if (file)
                file_watch_reload(file->watch);
}

void source_file_free(struct source_file *file) {
        if (!file)
                return;
        file_watch_free(file->watch);
        source_list_free(file->list);
        free(file);
}
