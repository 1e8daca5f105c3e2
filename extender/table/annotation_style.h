/* How to read annotations: options of the server, and of all programs that judge nodes as it does.
 */
#pragma once

#include "base/attributes.h"
#include "extender/table/node_table.h"
#include "program/program_options.h"

enum annotation_unit { ANNOTATION_UNIT_RATIO, ANNOTATION_UNIT_PERCENT };

extern const char *const annotation_units[];

/* clang-format off */
#define ANNOTATION_UNIT_ROW(place)                                                                 \
        {.name = "annotation-unit", .type = OPTION_ENUM, .value = &(place), .fallback = "ratio",   \
         .choices = annotation_units,                                                              \
         .help = "Unit of the numbers in annotations; crane-scheduler-plus writes percent."}
/* clang-format on */

struct annotation_style {
        struct program_annotations annotations;
        struct node_table_options table; /* without metrics; borrows `annotations` */
};

/** annotation_style_init() - read the options; call once per process
 * Return: as program_annotations_init() */
_must_check_ int annotation_style_init(struct annotation_style *ret,
                                       const struct program_options *options, int unit,
                                       struct error *err);
void annotation_style_done(struct annotation_style *style);
