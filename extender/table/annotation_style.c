#include "extender/table/annotation_style.h"

/* In the order of enum annotation_unit. */
const char *const annotation_units[] = {"ratio", "percent", NULL};

int annotation_style_init(struct annotation_style *ret, const struct program_options *options,
                          int unit, struct error *err) {
        int r = program_annotations_init(&ret->annotations, options, err);
        if (r < 0)
                return r;
        ret->table = (struct node_table_options){
                .annotation_prefix = ret->annotations.prefix,
                .zone = ret->annotations.zone,
                .is_percent = unit == ANNOTATION_UNIT_PERCENT,
        };
        return 0;
}

void annotation_style_done(struct annotation_style *style) {
        program_annotations_done(&style->annotations);
}
