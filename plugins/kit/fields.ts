import type * as t from 'io-ts'
import { described, optional } from './codecs.ts'

/** Who sees a field. A field of site admins is absent in the answer to any other caller. */
export type Audience = 'owner' | 'site-admin'

/**
 * A field of a resource on the wire: `A` is its type in the core, `G` its type in a draft of the core. Make one with
 * `field` or `mappedField`.
 */
export interface Field<A, G, W extends string, S extends t.Any, O extends t.Any> {
  /** The name in requests and answers. */
  readonly wire: W
  /** The codec in requests, which may omit the field. */
  readonly sent: S
  /** What a client sends: one sentence with the unit, the bounds and the default. */
  readonly sentWords: string
  /** The codec in answers. */
  readonly shown: O
  /** What a client gets: one sentence with the unit. */
  readonly shownWords: string
  /** The value in the examples of answers. */
  readonly example: t.OutputOf<O>
  /** By default every caller that reads the resource. */
  readonly seenBy?: Audience
  readonly toWire: (value: A) => t.TypeOf<O>
  readonly fromWire: (value: t.TypeOf<S>) => G
}

/** A field whose codecs are of any type. */
interface AnyField<A = never, G = unknown> {
  readonly wire: string
  readonly sent: t.Any
  readonly sentWords: string
  readonly shown: t.Any
  readonly shownWords: string
  readonly example: unknown
  readonly seenBy?: Audience
  readonly toWire: (value: A) => unknown
  readonly fromWire: (value: never) => G
}
type AnyFields = Readonly<Record<string, AnyField>>

type Declared<W extends string, S extends t.Any, O extends t.Any> = Omit<
  Field<unknown, unknown, W, S, O>,
  'toWire' | 'fromWire'
>

/** Returns a field whose value on the wire differs from that in the core. */
export const mappedField = <const W extends string, S extends t.Any, O extends t.Any, A, G>(
  declared: Declared<W, S, O>,
  toWire: (value: A) => t.TypeOf<O>,
  fromWire: (value: t.TypeOf<S>) => G,
): Field<A, G, W, S, O> => ({ ...declared, toWire, fromWire })

/** Returns a field whose value on the wire is that in the core. */
export const field = <const W extends string, S extends t.Any, O extends t.Any>(
  declared: Declared<W, S, O>,
): Field<t.TypeOf<O>, t.TypeOf<S>, W, S, O> =>
  mappedField(
    declared,
    (value: t.TypeOf<O>) => value,
    (value: t.TypeOf<S>) => value as t.TypeOf<S>,
  )

/** What callers decide about a resource of type `T`, by the names of the core. `D` is a draft of it. */
type FieldsOf<T, D extends Draft<T>> = {
  readonly [K in keyof T]-?: AnyField<T[K], Exclude<D[K], undefined>>
}
type Draft<T> = { readonly [K in keyof T]?: unknown }

/**
 * Declares the fields of a resource. A field of the type without a declaration, and a declaration without a field of the
 * type, do not compile.
 */
export const fieldsOf =
  <T, D extends Draft<T> = Partial<T>>() =>
  <F extends AnyFields>(fields: F & FieldsOf<T, D> & Readonly<Record<Exclude<keyof F, keyof T>, never>>): F =>
    fields

type SentProps<F extends AnyFields> = {
  [K in keyof F as F[K]['wire']]: t.Type<t.TypeOf<F[K]['sent']> | undefined, t.OutputOf<F[K]['sent']>, unknown>
}
type ShownProps<F extends AnyFields> = { [K in keyof F as F[K]['wire']]: F[K]['shown'] }
type Shown<F extends AnyFields> = { [K in keyof F as F[K]['wire']]: t.TypeOf<F[K]['shown']> }

const mapFields = (
  fields: AnyFields,
  entryOf: (name: string, declared: AnyField) => unknown,
): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(fields)
      .map(([name, declared]) => [declared.wire, entryOf(name, declared)])
      .filter(([, value]) => value !== undefined),
  ) as Record<string, unknown>

/** Returns the properties of a request that creates or changes the resource. Each may be absent. */
export const sentProps = <F extends AnyFields>(fields: F): SentProps<F> =>
  mapFields(fields, (_, { sent, sentWords }) => described(optional(sent), sentWords)) as SentProps<F>

const isSeen = ({ seenBy = 'owner' }: AnyField, audience: Audience): boolean =>
  seenBy === 'owner' || audience === 'site-admin'

/** Returns the properties of an answer to an audience. What it does not see may be absent. */
export const shownProps = <F extends AnyFields>(fields: F, audience: Audience): ShownProps<F> =>
  mapFields(fields, (_, declared) =>
    described(isSeen(declared, audience) ? declared.shown : optional(declared.shown), declared.shownWords),
  ) as ShownProps<F>

/** Returns the wire form of a resource for an audience. */
export const shownOf = <F extends AnyFields>(
  fields: F,
  resource: { readonly [K in keyof F]: Parameters<F[K]['toWire']>[0] },
  audience: Audience,
): Shown<F> =>
  mapFields(fields, (name, declared) =>
    isSeen(declared, audience) ? declared.toWire(resource[name] as never) : undefined,
  ) as Shown<F>

/** Returns the example of an answer to an audience. */
export const exampleOf = <F extends AnyFields>(
  fields: F,
  audience: Audience,
): { [K in keyof F as F[K]['wire']]: F[K]['example'] } =>
  mapFields(fields, (_, declared) => (isSeen(declared, audience) ? declared.example : undefined)) as {
    [K in keyof F as F[K]['wire']]: F[K]['example']
  }

/** Returns the draft of the core: the fields that a request names. */
export const draftOf = <F extends AnyFields>(
  fields: F,
  sent: { readonly [K in keyof F as F[K]['wire']]?: t.TypeOf<F[K]['sent']> | undefined },
): { readonly [K in keyof F]?: ReturnType<F[K]['fromWire']> } =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, { wire, fromWire }]) => {
      const value = (sent as Readonly<Record<string, unknown>>)[wire]
      return value === undefined ? [] : [[name, fromWire(value as never)]]
    }),
  ) as { readonly [K in keyof F]?: ReturnType<F[K]['fromWire']> }

/**
 * Returns the properties in the order that earlier releases documented: the named ones first, the others as declared.
 * Generated clients have their fields in this order.
 */
export const inOrder = <P extends t.Props>(props: P, ...first: readonly (keyof P & string)[]): P =>
  Object.fromEntries([...first, ...Object.keys(props)].map((name) => [name, props[name]])) as P

/** Returns the names of fields on the wire. */
export const wireNames = <F extends AnyFields>(fields: F): readonly F[keyof F]['wire'][] =>
  Object.values(fields).map(({ wire }) => wire)
