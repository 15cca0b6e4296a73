/** How a store keeps a field of a record: as text, integer, or number with a fraction. */
type FieldKind = 'text' | 'integer' | 'real';

/** What a store needs to know about a field. */
export interface Field {
  kind: FieldKind;
  /** Whether it can be `null`. */
  nullable?: boolean;
  /** The value for records written before the field was added. Default: `null`. */
  added?: string | number;
}

/**
 * The fields of records of type `R`, each with its kind; the compiler checks the list against the type. Its order is
 * that of the arrays in which Redis keeps records, so a new field goes to the end.
 */
export type FieldsOf<R> = { readonly [K in keyof R]-?: FieldOf<R[K]> };

type FieldOf<V> = Field & {
  kind: NonNullable<V> extends string ? 'text' : 'integer' | 'real';
} & (null extends V ? { nullable: true } : { nullable?: false });

/** Returns the names of the fields, in order. */
export function namesOf<R>(fields: FieldsOf<R>): (keyof R & string)[] {
  return Object.keys(fields) as (keyof R & string)[];
}

/** Returns the column of a field: `lastAlive` becomes `last_alive`. */
export function columnOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Reports whether a store can keep the value in the field without changing it. */
export function accepts({ kind, nullable = false }: Field, value: unknown): boolean {
  if (value === null) return nullable;
  if (kind === 'text') return typeof value === 'string';
  return kind === 'integer' ? Number.isSafeInteger(value) : Number.isFinite(value);
}

/**
 * Returns a function that reads records from arrays of values in the order of the fields. Older arrays may be
 * shorter.
 */
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
