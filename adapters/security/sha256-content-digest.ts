import { hash } from 'node:crypto'
import type { ContentDigest } from '../../core/identity/accounts/ports.ts'

export const sha256ContentDigest: ContentDigest = { of: (bytes) => hash('sha256', bytes, 'base64url') }
