import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import { laterByDays } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { definedFields, isSameJson } from '../kernel/json.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { Secret } from '../kernel/secret.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { defineAudit } from '../kernel/unit-of-work.ts'
import type { WebhookStore, WebhookStores } from './ports.ts'
import { WebhookChanged, WebhookMissing, WebhookRefused } from './ports.ts'
import type { WebhookSecrets } from './secrets.ts'
import type { Webhook, WebhookContent, WebhookId, WebhookOwner } from './types.ts'

/** Maximum number of webhooks of one owner. */
const maxWebhooks = 20
/** The secret before a rotation signs for this long too. */
const formerSecretDays = 1

/** The audit rows about a webhook: in the log of its organization, or of the site. */
export const auditOfWebhook = defineAudit(
  'webhook',
  [
    'webhook.created',
    'webhook.changed',
    'webhook.deleted',
    'webhook.disabled',
    'webhook.secret_rotated',
    'webhook.tested',
    'webhook.redelivered',
  ],
  ({ id, name, orgId }: Pick<Webhook, 'id' | 'name' | 'orgId'>) => ({
    objectId: id,
    objectName: name,
    ...definedFields({ tenantId: orgId }),
  }),
)

/** What a request sets. Undefined leaves a field as it is. */
export type WebhookForm = { readonly [K in keyof WebhookContent]: WebhookContent[K] | undefined }

/** A webhook with its secret, which is shown only here. */
export interface CreatedWebhook {
  readonly webhook: Webhook
  readonly secret: Secret
}

export interface OwnedWebhook {
  readonly owner: WebhookOwner
  readonly id: WebhookId
}

export const webhookMissing = (): Failure<'WebhookMissing'> => WebhookMissing('The webhook does not exist.')

const changed = (): Failure<'WebhookChanged'> =>
  WebhookChanged('Another request changed the webhook. Read it and try again.')

const refused = (message: string): Either<Failure<'WebhookRefused'>, never> => left(WebhookRefused(message))

const defaults = { isEnabled: true, format: 'standard', events: ['*'] } as const

const readUrl = (text: string): string | undefined => {
  if (!URL.canParse(text)) return 'url: must be an absolute address, such as https://example.com/hooks.'
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'url: must begin with https://.'
  if (url.username !== '' || url.password !== '') return 'url: must not have a user name or password.'
  return url.hash === '' ? undefined : 'url: must not have a fragment.'
}

/** Checks what a request sets of a webhook. */
const readWebhook = (
  form: WebhookForm,
  before: WebhookContent | undefined,
): Either<Failure<'WebhookRefused'>, WebhookContent> => {
  const name = (form.name ?? before?.name ?? '').trim()
  if (name === '') return refused('name: must have 1 to 100 characters.')
  const url = form.url ?? before?.url ?? ''
  const problem = readUrl(url)
  if (problem !== undefined) return refused(problem)
  const events = [...new Set(form.events ?? before?.events ?? defaults.events)].sort()
  return right({
    name,
    url,
    events,
    format: form.format ?? before?.format ?? defaults.format,
    isEnabled: form.isEnabled ?? before?.isEnabled ?? defaults.isEnabled,
  })
}

const contentOf = ({ name, url, events, format, isEnabled }: WebhookContent): WebhookContent => ({
  name,
  url,
  events,
  format,
  isEnabled,
})

/** The query of an address may have a credential of the receiver, so the audit log has none. */
const shown = ({ url, events, format, isEnabled }: WebhookContent) => ({
  url: `${new URL(url).origin}${new URL(url).pathname}`,
  events,
  format,
  is_enabled: isEnabled,
})

interface ReadDeps {
  readonly webhooks: Pick<WebhookStore, 'list' | 'find'>
}

/** Lists the webhooks of an owner, by id. */
export const makeListWebhooks =
  ({ webhooks }: ReadDeps) =>
  async (
    _call: SignedInCall<never>,
    { owner, page }: { readonly owner: WebhookOwner; readonly page: PageRequest },
  ): Outcome<never, Page<Webhook>> =>
    right(await webhooks.list(owner, page))

export const makeShowWebhook =
  ({ webhooks }: ReadDeps) =>
  async (_call: SignedInCall<never>, { owner, id }: OwnedWebhook): Outcome<Failure<'WebhookMissing'>, Webhook> => {
    const webhook = await webhooks.find(owner, id)
    return webhook === undefined ? left(webhookMissing()) : right(webhook)
  }

export interface ChangeWebhookDeps {
  readonly unitOfWork: UnitOfWork<WebhookStores>
  readonly secrets: WebhookSecrets
  readonly clock: Clock
}

/** Creates a webhook. It receives the events of changes that are made from now on. */
export const makeCreateWebhook =
  ({ unitOfWork, secrets, clock }: ChangeWebhookDeps) =>
  async (
    call: SignedInCall<CreatedWebhook>,
    { owner, form }: { readonly owner: WebhookOwner; readonly form: WebhookForm },
  ): Outcome<Failure<'WebhookRefused'>, CreatedWebhook> => {
    const read = readWebhook(form, undefined)
    if (isLeft(read)) return read
    const secret = secrets.make()
    const sealed = await secrets.seal(owner, [secret])
    return unitOfWork.run<Failure<'WebhookRefused'>, CreatedWebhook>(call, async ({ webhooks, audit }) => {
      if ((await webhooks.lockCount(owner)) >= maxWebhooks)
        return refused(`There are ${maxWebhooks} webhooks already. Remove one first.`)
      const id = await webhooks.insert(owner, read.right, { ...sealed, formerUntil: undefined }, clock.now())
      const webhook = await webhooks.find(owner, id)
      if (webhook === undefined) throw new Error('a webhook that was just inserted is not there')
      await audit.record(auditOfWebhook(webhook, 'webhook.created', shown(webhook)))
      return right({ webhook, secret })
    })
  }

type ChangeFailure = Failure<'WebhookMissing'> | Failure<'WebhookRefused'> | Failure<'WebhookChanged'>

/** Changes a webhook. One that is enabled again sends what is still pending. */
export const makeChangeWebhook =
  ({ unitOfWork, clock }: Pick<ChangeWebhookDeps, 'unitOfWork' | 'clock'>) =>
  async (
    call: SignedInCall<Webhook>,
    { owner, id, form }: OwnedWebhook & { readonly form: WebhookForm },
  ): Outcome<ChangeFailure, Webhook> =>
    unitOfWork.run<ChangeFailure, Webhook>(call, async ({ webhooks, audit }) => {
      const before = await webhooks.find(owner, id)
      if (before === undefined) return left(webhookMissing())
      const content = readWebhook(form, before)
      if (isLeft(content)) return content
      if (isSameJson(contentOf(before), content.right)) return right(before)
      if (!(await webhooks.replace(before, content.right, clock.now()))) return left(changed())
      const webhook = await webhooks.find(owner, id)
      if (webhook === undefined) return left(changed())
      await audit.record(auditOfWebhook(webhook, 'webhook.changed', shown(webhook)))
      return right(webhook)
    })

/** Makes a new secret. The one before signs too for a day, so that receivers can change theirs without a gap. */
export const makeRotateWebhookSecret =
  ({ unitOfWork, secrets, clock }: ChangeWebhookDeps) =>
  async (
    call: SignedInCall<CreatedWebhook>,
    { owner, id }: OwnedWebhook,
  ): Outcome<Failure<'WebhookMissing'> | Failure<'WebhookChanged'>, CreatedWebhook> =>
    unitOfWork.run<Failure<'WebhookMissing'> | Failure<'WebhookChanged'>, CreatedWebhook>(
      call,
      async ({ webhooks, audit }) => {
        const before = await webhooks.find(owner, id)
        if (before === undefined) return left(webhookMissing())
        const now = clock.now()
        const secret = secrets.make()
        const former = (await secrets.open(before, now)).slice(0, 1)
        const sealed = await secrets.seal(owner, [secret, ...former])
        const stored = { ...sealed, formerUntil: laterByDays(now, formerSecretDays) }
        if (!(await webhooks.replaceSecrets(before, stored, now))) return left(changed())
        await audit.record(auditOfWebhook(before, 'webhook.secret_rotated'))
        return right({ webhook: { ...before, formerUntil: stored.formerUntil, updatedAt: now }, secret })
      },
    )

/** Removes a webhook with its deliveries. */
export const makeRemoveWebhook =
  ({ unitOfWork }: Pick<ChangeWebhookDeps, 'unitOfWork'>) =>
  async (call: SignedInCall<void>, { owner, id }: OwnedWebhook): Outcome<Failure<'WebhookMissing'>, void> =>
    unitOfWork.run<Failure<'WebhookMissing'>, void>(call, async ({ webhooks, audit }) => {
      const webhook = await webhooks.find(owner, id)
      if (webhook === undefined || !(await webhooks.remove(owner, id))) return left(webhookMissing())
      await audit.record(auditOfWebhook(webhook, 'webhook.deleted'))
      return right(undefined)
    })
