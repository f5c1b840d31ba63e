import type { TimeSlices } from '../../core/kernel/clock.ts'
import { fromWireJson, toWireJson } from '../../core/kernel/json.ts'

/** A JSON value in texts that are short, so that each is parsed in a few milliseconds. */
export type JsonPiece =
  | { readonly kind: 'whole'; readonly text: string }
  /** A text is an array of several items; a piece is one item. */
  | { readonly kind: 'array'; readonly parts: readonly (string | JsonPiece)[] }
  /** A text is an object of several members; a pair is one member. */
  | { readonly kind: 'object'; readonly parts: readonly (string | readonly [string, JsonPiece])[] }

/** The number of values in one text, where a text value counts as one for each 64 characters. */
const textWeight = 4_000
const maxDepth = 200
/** Lists are read in pages that are much shorter. What reads a list goes through all of it at once. */
const maxItems = 25_000

/** The text is JSON of a form that is not read here. The message completes a sentence about the source. */
export class JsonUnreadable extends Error {}

type Weights = Map<object, number>

const textCost = (text: string): number => 1 + Math.floor(text.length / 64)

/** Returns the weight of a value, and records it for those that are too heavy for one text. */
const weigh = (value: unknown, heavy: Weights, depth = 0): number => {
  if (typeof value === 'string') return textCost(value)
  if (typeof value !== 'object' || value === null) return 1
  if (depth > maxDepth) throw new JsonUnreadable('sent JSON that is nested too deeply.')
  let sum = 1
  const members = Array.isArray(value) ? [] : Object.entries(value)
  if ((Array.isArray(value) ? value : members).length > maxItems)
    throw new JsonUnreadable(`sent JSON with more than ${maxItems} values in one place.`)
  if (Array.isArray(value)) {
    for (const item of value) sum += weigh(item, heavy, depth + 1)
  } else {
    for (const [key, item] of members) sum += textCost(key) + weigh(item, heavy, depth + 1)
  }
  if (sum > textWeight) heavy.set(value, sum)
  return sum
}

/** Joins neighbours whose weight together fits one text. What is too heavy is alone. */
const grouped = <A>(all: readonly A[], weightOf: (each: A) => number): readonly (readonly A[])[] => {
  const made: A[][] = []
  let room = 0
  for (const each of all) {
    const weight = weightOf(each)
    if (weight > room || made.length === 0) {
      made.push([])
      room = textWeight
    }
    made.at(-1)?.push(each)
    room -= weight
  }
  return made
}

const split = (value: unknown, heavy: Weights): JsonPiece => {
  const isHeavy = (each: unknown): boolean => typeof each === 'object' && each !== null && heavy.has(each)
  const weightOf = (each: unknown): number => (isHeavy(each) ? textWeight + 1 : weigh(each, heavy))
  if (!isHeavy(value)) return { kind: 'whole', text: toWireJson(value) }
  if (Array.isArray(value)) {
    const groups = grouped(value as readonly unknown[], weightOf)
    return {
      kind: 'array',
      parts: groups.map((group) => (isHeavy(group[0]) ? split(group[0], heavy) : toWireJson(group))),
    }
  }
  const groups = grouped(Object.entries(value as object), ([key, item]) => textCost(key) + weightOf(item))
  const partOf = (group: readonly [string, unknown][]): string | readonly [string, JsonPiece] => {
    const [first] = group
    return first !== undefined && isHeavy(first[1])
      ? [first[0], split(first[1], heavy)]
      : toWireJson(Object.fromEntries(group))
  }
  return { kind: 'object', parts: groups.map((group) => partOf(group as readonly [string, unknown][])) }
}

/**
 * Parses a text into pieces; undefined if it is no JSON. For a thread: it takes as long as the text is. Throws
 * JsonUnreadable.
 */
export const piecesOf = (text: string): JsonPiece | undefined => {
  let value: unknown
  try {
    value = fromWireJson(text)
  } catch {
    return undefined
  }
  const heavy: Weights = new Map()
  weigh(value, heavy)
  return split(value, heavy)
}

/** Sets a member as a parser does, whatever its name is. */
const setMember = (target: Record<string, unknown>, key: string, value: unknown): void => {
  if (key === '__proto__')
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
  else target[key] = value
}

/** Returns the value of pieces. Other work runs between them. */
export const joinPieces = async (piece: JsonPiece, slices: TimeSlices): Promise<unknown> => {
  if (piece.kind === 'whole') return slices.run(() => fromWireJson(piece.text))
  if (piece.kind === 'array') {
    const items: unknown[] = []
    for (const part of piece.parts) {
      if (typeof part === 'string') await slices.run(() => items.push(...(fromWireJson(part) as unknown[])))
      else items.push(await joinPieces(part, slices))
    }
    return items
  }
  const members: Record<string, unknown> = {}
  for (const part of piece.parts) {
    if (typeof part === 'string')
      await slices.run(() =>
        Object.entries(fromWireJson(part) as object).forEach(([key, value]) => setMember(members, key, value)),
      )
    else setMember(members, part[0], await joinPieces(part[1], slices))
  }
  return members
}
