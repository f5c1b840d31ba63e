/** The known word that a misspelt one most likely means, or undefined when none is near. */
export const nearestWord = (wrong: string, known: readonly string[]): string | undefined => {
  const allowed = Math.max(2, Math.floor(wrong.length / 3))
  let best: { readonly word: string; readonly distance: number } | undefined
  for (const word of known) {
    const distance = editDistance(wrong, word)
    if (distance <= allowed && (best === undefined || distance < best.distance)) best = { word, distance }
  }
  return best?.word
}

/** Levenshtein's distance: insertions, deletions and replacements. */
export const editDistance = (from: string, to: string): number => {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (const [i, letter] of [...from].entries()) {
    const next = [i + 1]
    for (const [j, other] of [...to].entries()) {
      next.push(Math.min((row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1, (row[j] ?? 0) + (letter === other ? 0 : 1)))
    }
    row = next
  }
  return row[to.length] ?? 0
}
