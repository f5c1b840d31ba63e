import * as jose from 'jose'
import type { KeyFactory } from '../../core/authorization-server/ports.ts'
import type { FreeObject } from '../../core/kernel/json.ts'
import { secret } from '../../core/kernel/secret.ts'

/** Every client of OpenID Connect verifies it. */
export const signingAlgorithm = 'RS256'

/** Makes RSA keys, named by their thumbprint. */
export const joseKeyFactory: KeyFactory = {
  async make() {
    const { privateKey } = await jose.generateKeyPair(signingAlgorithm, { extractable: true, modulusLength: 2048 })
    const jwk = await jose.exportJWK(privateKey)
    const kid = await jose.calculateJwkThumbprint(jwk)
    return secret({ ...jwk, kid, alg: signingAlgorithm, use: 'sig' } as FreeObject)
  },
}
