import { hash } from 'node:crypto'

/** Lower-case hex. */
export const sha256Hex = (bytes: Uint8Array): string => hash('sha256', bytes, 'hex')
