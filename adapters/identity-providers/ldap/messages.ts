/**
 * The outer form of LDAP messages (RFC 4511 §4.1.1). The library trusts the lengths that a server sends: one that is
 * longer than the rest of its message would keep it in a loop. So only messages reach it whose elements fill each other
 * exactly.
 */

/** An element of BER with one byte of tag: where its content begins and ends. */
interface Element {
  readonly tag: number
  readonly from: number
  readonly to: number
}

const [integer, octets, enumerated, sequence, set, controls] = [0x02, 0x04, 0x0a, 0x30, 0x31, 0xa0]
/** SearchResultEntry and SearchResultReference. */
const [entryTag, referenceTag] = [0x64, 0x73]

/** Returns where the content of the element at `at` begins and ends; undefined if its head is not complete. */
const elementAt = (bytes: Buffer, at: number): Element | 'short' | 'invalid' => {
  const [tag, first] = [bytes[at], bytes[at + 1]]
  if (tag === undefined || first === undefined) return 'short'
  if (first < 0x80) return { tag, from: at + 2, to: at + 2 + first }
  const count = first - 0x80
  if (count < 1 || count > 4) return 'invalid'
  const from = at + 2 + count
  if (bytes.length < from) return 'short'
  return { tag, from, to: from + bytes.readUIntBE(at + 2, count) }
}

/** Returns the length of the first message, or undefined if its head is not complete. Throws if it is no message. */
export const messageLength = (bytes: Buffer): number | undefined => {
  if (bytes.length > 0 && bytes[0] !== sequence) throw new Error('no LDAP message')
  const element = elementAt(bytes, 0)
  if (element === 'invalid') throw new Error('no LDAP message')
  return element === 'short' ? undefined : element.to
}

/** Returns the elements that fill a range exactly; undefined if they do not. */
const elementsIn = (bytes: Buffer, { from, to }: Pick<Element, 'from' | 'to'>): readonly Element[] | undefined => {
  const found: Element[] = []
  for (let at = from; at < to;) {
    const element = elementAt(bytes, at)
    if (typeof element === 'string' || element.to > to) return undefined
    found.push(element)
    at = element.to
  }
  return found
}

type Rule = (bytes: Buffer, element: Element) => boolean

const tagged =
  (tag: number): Rule =>
  (_, element) =>
    element.tag === tag
const isOctets = tagged(octets)

/** Returns the rule for an element of this tag whose parts keep the rules in order; the last one may repeat. */
const filled =
  (tag: number | undefined, rules: readonly Rule[], more?: Rule): Rule =>
  (bytes, element) => {
    const parts = tag === undefined || element.tag === tag ? elementsIn(bytes, element) : undefined
    if (parts === undefined || parts.length < rules.length) return false
    return parts.every((part, n) => (rules[n] ?? more ?? (() => false))(bytes, part))
  }

const attribute = filled(sequence, [isOctets, filled(set, [], isOctets)])
const entry = filled(entryTag, [isOctets, filled(sequence, [], attribute)])
const reference = filled(referenceTag, [], isOctets)
/** A result code, a DN and a message; what follows is read as octets or not at all. */
const result = filled(undefined, [tagged(enumerated), isOctets, isOctets], () => true)
const operation: Rule = (bytes, element) =>
  (element.tag === entryTag ? entry : element.tag === referenceTag ? reference : result)(bytes, element)
const control = filled(sequence, [isOctets], (_, { tag }) => tag === octets || tag === 0x01)
const message = filled(sequence, [tagged(integer), operation], filled(controls, [], control))

/** Reports whether the bytes are one message whose elements fill each other. */
export const isMessage = (bytes: Buffer): boolean => {
  const whole = elementAt(bytes, 0)
  return typeof whole !== 'string' && whole.to === bytes.length && message(bytes, whole)
}
