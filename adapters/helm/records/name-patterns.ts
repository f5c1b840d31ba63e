import { left, right } from 'fp-ts/lib/Either.js'
import { RE2JS, RE2JSException } from 're2js'
import type { TimeSlices } from '../../../core/kernel/clock.ts'
import { FilterRefused, type NameFilter, type NamePatterns } from '../../../core/packages/ports.ts'

const longestPattern = 200
/**
 * Instructions of a compiled pattern. The cost of a match is at most the product of this and the length of the text.
 */
const largestProgram = 1000
/** Names in one slice: a few milliseconds with the largest program. */
const namesAtOnce = 50

/**
 * NamePatterns over RE2JS, which does not backtrack, so no pattern makes a match slow. Many names are matched in
 * slices.
 */
export const makeRe2NamePatterns = (slices: TimeSlices): NamePatterns => ({
  compile(pattern) {
    if (pattern.length > longestPattern)
      return left(FilterRefused(`The filter may have at most ${longestPattern} characters.`))
    try {
      const compiled = RE2JS.compile(pattern)
      if (compiled.programSize() > largestProgram)
        return left(FilterRefused('The filter is too large once its repetitions are written out.'))
      return right(filterBy((name) => compiled.test(name), slices))
    } catch (error) {
      if (!(error instanceof RE2JSException)) throw error
      return left(FilterRefused(`The filter is no regular expression: ${error.message}.`))
    }
  },
})

const filterBy =
  (matches: (name: string) => boolean, slices: TimeSlices): NameFilter =>
  async (names) => {
    const all = [...names]
    const found = new Set<string>()
    for (let at = 0; at < all.length; at += namesAtOnce) {
      for (const name of await slices.run(() => all.slice(at, at + namesAtOnce).filter(matches))) found.add(name)
    }
    return found
  }
