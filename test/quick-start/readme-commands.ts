import { readFileSync } from 'node:fs'

const readme = new URL('../../README.md', import.meta.url)

/** The `sh` blocks of the README's quick start, in their order. */
export const quickStartBlocks = (): readonly string[] => {
  const text = readFileSync(readme, 'utf8')
  const section = /\n## Quick start\n([\s\S]*?)\n## /.exec(text)?.[1]
  if (section === undefined) throw new Error('the README has no quick start')
  return [...section.matchAll(/```sh\n([\s\S]*?)```/g)].map((match) => match[1] ?? '')
}

/** The lines of the README about the test hub, with other names of clusters and sets: the API server of the tests is shared. */
export const hubLines = (named: (name: string) => string): string => {
  const block = /\n### A hub to try\n[\s\S]*?\n```\n([\s\S]*?)```/.exec(readFileSync(readme, 'utf8'))?.[1]
  if (block === undefined) throw new Error('the README has no lines about the test hub')
  return block.replaceAll(/\b(?:spoke-3|edge|fleet)\b/g, named)
}

/** The blocks as one script, with a person's own values in place of the README's. Each value must be found once. */
export const quickStartScript = (values: Readonly<Record<string, string>>): string => {
  let script = quickStartBlocks().join('\n')
  for (const [name, value] of Object.entries(values)) {
    const line = new RegExp(`^${name}=.*$`, 'm')
    if (!line.test(script)) throw new Error(`the quick start sets no ${name}`)
    script = script.replace(line, () => `${name}='${value}'`)
  }
  return script
}
