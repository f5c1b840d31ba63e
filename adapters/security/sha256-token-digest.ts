import { hash } from 'node:crypto'
import type { TokenDigest } from '../../core/identity/ports.ts'

export const sha256TokenDigest: TokenDigest = { digest: (value) => hash('sha256', value, 'buffer') }
