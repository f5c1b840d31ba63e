import type { SecretData } from './storage-key.ts'

const decodeBase64 = (text: string): string | undefined => {
  try {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** The values of a Kubernetes Secret as text; those that are none are left out. Undefined when the answer is no Secret. */
export const readSecretData = (json: unknown): SecretData | undefined => {
  if (typeof json !== 'object' || json === null || (json as { kind?: unknown }).kind !== 'Secret') return undefined
  const data = (json as { data?: unknown }).data ?? {}
  if (typeof data !== 'object' || data === null) return undefined
  return Object.fromEntries(
    Object.entries(data).flatMap(([key, value]) => {
      const text = typeof value === 'string' ? decodeBase64(value) : undefined
      return text === undefined ? [] : [[key, text]]
    }),
  )
}
