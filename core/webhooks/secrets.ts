import type { Entropy, SealedPlace, Secret, SecretBox } from '../kernel/secret.ts'
import { hex, secret } from '../kernel/secret.ts'
import { toWireJson } from '../kernel/json.ts'
import { portKey } from '../kernel/port-key.ts'
import type { StoredSecrets, StoredWebhook, WebhookOwner } from './types.ts'

/** Standard Webhooks allows 24 to 64. */
const secretBytes = 32

/** The signing secrets of webhooks. */
export interface WebhookSecrets {
  /** Returns a new secret, `whsec_` and base64. */
  make(): Secret
  /** Seals the present secret, followed by the former one. */
  seal(owner: WebhookOwner, secrets: readonly Secret[]): Promise<Pick<StoredSecrets, 'ref' | 'box'>>
  /** Returns the secrets that sign, the present one first. Throws if the box was tampered with or moved. */
  open(webhook: StoredWebhook, now: Date): Promise<readonly Secret[]>
}
export const WebhookSecretsPort = portKey<WebhookSecrets>('webhooks.Secrets')

const placeOf = (owner: WebhookOwner, ref: string): SealedPlace => ({
  table: 'webhooks',
  column: 'sealed_secrets',
  tenantId: owner ?? 0,
  rowRef: ref,
})

export const makeWebhookSecrets = ({
  secretBox,
  entropy,
}: {
  readonly secretBox: SecretBox
  readonly entropy: Entropy
}): WebhookSecrets => ({
  make: () => secret(`whsec_${btoa(String.fromCharCode(...entropy.bytes(secretBytes)))}`),
  async seal(owner, secrets) {
    const ref = hex(entropy.bytes(16))
    const plain = secret(toWireJson(secrets.map((each) => each.reveal())))
    return { ref, box: await secretBox.seal(plain, placeOf(owner, ref)) }
  },
  async open({ orgId, ref, box, formerUntil }, now) {
    const plain = await secretBox.open(box, placeOf(orgId, ref))
    const secrets = (JSON.parse(plain.reveal()) as readonly string[]).map((each) => secret(each))
    return formerUntil !== undefined && now < formerUntil ? secrets : secrets.slice(0, 1)
  },
})
