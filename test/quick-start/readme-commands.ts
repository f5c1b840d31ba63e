import { readFileSync } from 'node:fs'

const readme = new URL('../../README.md', import.meta.url)
const quickStart = new URL('../../docs/quick-start.md', import.meta.url)

const shellBlocks = (text: string): readonly string[] =>
  [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map((match) => match[1] ?? '')

/** The `sh` blocks of the page of the quick start, in their order. */
export const quickStartBlocks = (): readonly string[] => shellBlocks(readFileSync(quickStart, 'utf8'))

/** The `sh` blocks of the README, in their order. */
export const readmeBlocks = (): readonly string[] => shellBlocks(readFileSync(readme, 'utf8'))

/**
 * The lines of the quick start about the test hub, with other names of clusters and sets: the API server of the tests
 * is shared.
 */
export const hubLines = (named: (name: string) => string): string => {
  const block = /\n## A hub to try\n[\s\S]*?\n```\n([\s\S]*?)```/.exec(readFileSync(quickStart, 'utf8'))?.[1]
  if (block === undefined) throw new Error('the quick start has no lines about the test hub')
  return block.replaceAll(/\b(?:spoke-3|edge|fleet)\b/g, named)
}

/** The blocks as one script, with a person's own values in place of the README's. Each value must be found once. */
export const scriptOf = (blocks: readonly string[], values: Readonly<Record<string, string>>): string => {
  let script = blocks.join('\n')
  for (const [name, value] of Object.entries(values)) {
    const line = new RegExp(`^${name}=.*$`, 'm')
    if (!line.test(script)) throw new Error(`these commands set no ${name}`)
    script = script.replace(line, () => `${name}='${value}'`)
  }
  return script
}
