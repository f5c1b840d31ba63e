import { readFileSync } from 'node:fs'

/** The version in package.json: beside the sources, or one folder further up from a build's output. */
export const readVersion = (): string => {
  for (const place of ['../package.json', '../../package.json']) {
    try {
      const content = JSON.parse(readFileSync(new URL(place, import.meta.url), 'utf8')) as { readonly name?: string; readonly version?: string }
      if (content.name === 'moorage' && content.version !== undefined) return content.version
    } catch {
      // Not here: the other place has it.
    }
  }
  return '0.0.0'
}
