/** Where a subject stands: how many failures it has left, or a refusal. */
export type Standing<R> = { readonly kind: 'open'; readonly left: number } | { readonly kind: 'refused'; readonly refusal: R }

interface Place {
  /** Callers that hold or want a place; with none the place is dropped. */
  callers: number
  underWay: number
  /** Grows with each failure that was counted, so that a standing read before it is known to be old. */
  failures: number
  readonly waiting: (() => void)[]
}

/**
 * Lets no more guesses at one subject be under way in this process than the subject has failures left. Without it a
 * crowd of guesses would all be admitted by the same old count. `left` of an open standing is at least 1, so that whoever
 * waits always waits for somebody.
 */
export const makeUnderWay = () => {
  const places = new Map<string, Place>()

  const placeOf = (key: string): Place => {
    const known = places.get(key)
    if (known !== undefined) return known
    const made: Place = { callers: 0, underWay: 0, failures: 0, waiting: [] }
    places.set(key, made)
    return made
  }

  const leave = (key: string, place: Place): void => {
    place.callers -= 1
    place.waiting.shift()?.()
    if (place.callers === 0) places.delete(key)
  }

  /** Undefined when a place was taken, which `end` gives back; else why not. */
  const enter = async <R>(place: Place, read: () => Promise<Standing<R>>): Promise<R | undefined> => {
    for (;;) {
      const { failures } = place
      const standing = await read()
      if (standing.kind === 'refused') return standing.refusal
      if (place.failures !== failures) continue
      if (place.underWay < standing.left) {
        place.underWay += 1
        return undefined
      }
      await new Promise<void>((resume) => place.waiting.push(resume))
    }
  }

  /** Runs `work` in a place of its own, or answers the refusal. `work` calls `failed` once its failure is counted. */
  return async <R, A>(key: string, read: () => Promise<Standing<R>>, work: (failed: () => void) => Promise<A>): Promise<R | A> => {
    const place = placeOf(key)
    place.callers += 1
    let isUnderWay = false
    try {
      const refusal = await enter(place, read)
      if (refusal !== undefined) return refusal
      isUnderWay = true
      return await work(() => {
        place.failures += 1
      })
    } finally {
      if (isUnderWay) place.underWay -= 1
      leave(key, place)
    }
  }
}
