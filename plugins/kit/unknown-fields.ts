import type * as t from 'io-ts'
import { isObject } from '../../core/kernel/json.ts'
import { listedItem, optionalInner } from './codecs.ts'

/**
 * What a codec reads of a value: the fields of an object, or the items of a list. Values that are read whole have no
 * shape.
 */
export type ReadShape =
  | {
      readonly kind: 'object'
      readonly fields: ReadonlyMap<string, ReadShape | undefined>
      readonly dropsOthers: boolean
    }
  | { readonly kind: 'list'; readonly item: ReadShape }

/** A field of a request that its codec drops. */
export interface UnknownField {
  /** The keys that lead to the field, joined by points. */
  readonly path: string
  /** The known field of the same object that is absent and was probably meant. */
  readonly meant: string | undefined
}

interface Tagged {
  readonly _tag?: string
  readonly props?: Readonly<Record<string, t.Any>>
  readonly type?: t.Any
  readonly types?: readonly t.Any[]
}

type ObjectShape = Extract<ReadShape, { readonly kind: 'object' }>

/** Returns one shape for a value that several codecs read: a field is known if one of them knows it. */
const merged = (shapes: readonly (ReadShape | undefined)[], dropsOthers: boolean): ReadShape | undefined => {
  const [first] = shapes
  if (shapes.length === 1) return first
  const objects = shapes.filter((shape): shape is ObjectShape => shape?.kind === 'object')
  if (objects.length === 0) return undefined
  const names = new Set(objects.flatMap(({ fields }) => [...fields.keys()]))
  const fieldOf = (name: string) =>
    merged(
      objects.filter(({ fields }) => fields.has(name)).map(({ fields }) => fields.get(name)),
      true,
    )
  return {
    kind: 'object',
    fields: new Map([...names].map((name) => [name, fieldOf(name)])),
    dropsOthers: dropsOthers && objects.every((shape) => shape.dropsOthers),
  }
}

const isNothing = (codec: t.Any): boolean =>
  ['NullType', 'UndefinedType', 'VoidType'].includes((codec as Tagged)._tag ?? '')

const objectShape = (props: Readonly<Record<string, t.Any>>): ReadShape => ({
  kind: 'object',
  fields: new Map(Object.entries(props).map(([name, codec]) => [name, shapeOf(codec)])),
  dropsOthers: false,
})

const itemsOf = (codec: t.Any): ReadShape | undefined => {
  const item = shapeOf(codec)
  return item === undefined ? undefined : { kind: 'list', item }
}

const describe = (codec: t.Any): ReadShape | undefined => {
  const inner = optionalInner(codec)
  if (inner !== undefined) return shapeOf(inner)
  const item = listedItem(codec)
  if (item !== undefined) return itemsOf(item)
  const { _tag, props = {}, type, types = [] } = codec as Tagged
  switch (_tag) {
    case 'InterfaceType':
    case 'PartialType':
      return objectShape(props)
    case 'StrictType':
    case 'ExactType': {
      const shape = _tag === 'StrictType' ? objectShape(props) : shapeOf(type as t.Any)
      return shape?.kind === 'object' ? { ...shape, dropsOthers: true } : shape
    }
    case 'IntersectionType':
      // A part without a shape, such as a free-form object, reads every field.
      return merged(
        types.map(shapeOf),
        types.every((part) => shapeOf(part) !== undefined),
      )
    case 'UnionType':
      return merged(types.filter((part) => !isNothing(part)).map(shapeOf), true)
    case 'ReadonlyType':
    case 'RefinementType':
      return shapeOf(type as t.Any)
    case 'ArrayType':
    case 'ReadonlyArrayType':
      return itemsOf(type as t.Any)
    default:
      return undefined
  }
}

const shapes = new WeakMap<object, { readonly shape: ReadShape | undefined }>()

/** Returns what a codec reads; undefined if it drops nothing. Each codec is described once. */
export const shapeOf = (codec: t.Any): ReadShape | undefined => {
  const known = shapes.get(codec)
  if (known !== undefined) return known.shape
  const shape = describe(codec)
  shapes.set(codec, { shape })
  return shape
}

/** Names with fewer letters often differ in one of them: `name` and `namn`, but also `from` and `form`. */
const fewestLetters = 6

const bare = (name: string): string => name.toLowerCase().replace(/[\s_.-]/g, '')

/** Reports whether one letter was changed, added, left out, or swapped with its neighbour. */
const differInOne = (a: string, b: string): boolean => {
  let from = 0
  while (from < a.length && a[from] === b[from]) from += 1
  const [restOfA, restOfB] = [a.slice(from), b.slice(from)]
  const isSwapped =
    restOfA.length > 1 &&
    restOfA[0] === restOfB[1] &&
    restOfA[1] === restOfB[0] &&
    restOfA.slice(2) === restOfB.slice(2)
  return (
    isSwapped || restOfA.slice(1) === restOfB.slice(1) || restOfA.slice(1) === restOfB || restOfA === restOfB.slice(1)
  )
}

const longestName = 100

/** Returns the names that differ from the given one only in case, separators or one letter. */
export const namesNear = (name: string, names: Iterable<string>): readonly string[] => {
  if (name.length > longestName || name.replace(/[^\p{L}]/gu, '').length < fewestLetters) return []
  const a = bare(name)
  return [...names].filter((other) => {
    if (Math.abs(other.length - name.length) > longestName / 10) return false
    const b = bare(other)
    return a === b || (Math.abs(a.length - b.length) <= 1 && differInOne(a, b))
  })
}

/** More fields would not help a client. Those that were probably meant otherwise come first. */
const mostFields = 20
/** Of more unknown names than that, those that come later are not compared with the known ones. */
const mostCompared = 1000

const keyed = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`)

/** Returns the fields of a value that its codec drops, at most 20 and each once, whichever item of a list it is in. */
export const unknownFields = (shape: ReadShape | undefined, value: unknown): readonly UnknownField[] => {
  if (shape === undefined) return []
  const found = new Map<string, { field: UnknownField; readonly near: readonly string[] }>()
  const note = (at: string, path: string, key: string, part: object, { fields }: ObjectShape): void => {
    let noted = found.get(at)
    if (noted === undefined) {
      if (found.size >= mostCompared) return
      noted = { field: { path, meant: undefined }, near: namesNear(key, fields.keys()) }
      found.set(at, noted)
    }
    if (noted.field.meant !== undefined) return
    const meant = noted.near.find((name) => !Object.hasOwn(part, name))
    if (meant !== undefined) noted.field = { path, meant }
  }
  // `at` is the path without the positions in lists.
  const visit = (each: ReadShape, part: unknown, path: string, at: string): void => {
    if (each.kind === 'list') {
      if (Array.isArray(part))
        for (let index = 0; index < part.length; index += 1)
          visit(each.item, part[index], keyed(path, String(index)), at)
      return
    }
    if (!isObject(part)) return
    for (const key of Object.keys(part)) {
      const field = each.fields.get(key)
      if (field !== undefined) visit(field, part[key], keyed(path, key), keyed(at, key))
      else if (each.dropsOthers && !each.fields.has(key)) note(keyed(at, key), keyed(path, key), key, part, each)
    }
  }
  visit(shape, value, '', '')
  const fields = [...found.values()].map(({ field }) => field)
  return [
    ...fields.filter(({ meant }) => meant !== undefined),
    ...fields.filter(({ meant }) => meant === undefined),
  ].slice(0, mostFields)
}
