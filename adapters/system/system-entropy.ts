import { randomBytes, randomUUID } from 'node:crypto'
import type { Entropy } from '../../core/kernel/secret.ts'

export const systemEntropy: Entropy = {
  bytes: (length) => new Uint8Array(randomBytes(length)),
  uuid: () => randomUUID(),
}
