import { randomBytes } from 'node:crypto'

/** A secret that nothing else contains. */
export interface Canary {
  readonly what: string
  readonly value: string
}

/** Makes secrets and remembers them. */
export const makeCanaries = () => {
  const made: Canary[] = []
  return {
    made: made as readonly Canary[],
    /** A fresh secret; `keep` takes one that the service made. */
    fresh: (what: string): string => {
      const value = `Canary-${randomBytes(9).toString('hex')}-tide`
      made.push({ what, value })
      return value
    },
    keep: (what: string, value: string): string => {
      made.push({ what, value })
      return value
    },
  }
}

/** The forms in which a leaked secret may stand. */
const formsOf = (value: string): readonly string[] => {
  const bytes = Buffer.from(value)
  // Base64 of a longer text holds one of three forms, by where the secret begins in it; the outer characters depend on
  // the neighbours.
  const shifted = [0, 1, 2].map((shift) =>
    Buffer.concat([Buffer.alloc(shift), bytes])
      .toString('base64')
      .slice(shift === 0 ? 0 : 4, -4),
  )
  return [
    value,
    ...shifted,
    bytes.toString('base64url'),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    encodeURIComponent(value),
    JSON.stringify(value).slice(1, -1),
    [...value].reverse().join(''),
  ]
}

/** Where a text shows one of the secrets: `what, in this form`. */
export const leaks = (text: string, canaries: readonly Canary[]): readonly string[] =>
  canaries.flatMap(({ what, value }) =>
    formsOf(value).flatMap((form, index) =>
      form.length >= 8 && text.includes(form) ? [`${what}, form ${index}`] : [],
    ),
  )
