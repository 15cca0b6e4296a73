/** How a field of a record is kept by a store: texts, whole numbers, and numbers with a fraction. */
export type FieldKind = 'text' | 'integer' | 'real';

/** What a store has to know of a field. */
export interface Field {
  kind: FieldKind;
  /** Whether `null` is a value of it. */
  nullable?: boolean;
  /** The value of records that were written before the field was added; `null` when not given. */
  added?: string | number;
}

/**
 * The fields of records of type `R`, each with its kind; the compiler holds the list to the type. Its order is that of
 * the arrays in which Redis keeps records, so that a new field goes to the end.
 */
export type FieldsOf<R> = { readonly [K in keyof R]-?: FieldOf<R[K]> };

type FieldOf<V> = Field & {
  kind: NonNullable<V> extends string ? 'text' : 'integer' | 'real';
} & (null extends V ? { nullable: true } : { nullable?: false });

/** The names of the fields, in their order. */
export function namesOf<R>(fields: FieldsOf<R>): (keyof R & string)[] {
  return Object.keys(fields) as (keyof R & string)[];
}

/** The column of a field: `lastAlive` is kept in `last_alive`. */
export function columnOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Whether a store can keep the value in the field, so that it reads back as it was. */
export function accepts({ kind, nullable = false }: Field, value: unknown): boolean {
  if (value === null) return nullable;
  if (kind === 'text') return typeof value === 'string';
  return kind === 'integer' ? Number.isSafeInteger(value) : Number.isFinite(value);
}

/** Reads records back from arrays of their values in the order of the fields; older ones may end early. */
export function reader<R>(fields: FieldsOf<R>): (values: readonly unknown[]) => R {
  const names = namesOf(fields);
  const added = names.map((name) => fields[name].added ?? null);
  return (values) => {
    const record: Record<string, unknown> = {};
    for (let place = 0; place < names.length; place++) {
      record[names[place] ?? ''] = place < values.length ? values[place] : added[place];
    }
    return record as R;
  };
}
