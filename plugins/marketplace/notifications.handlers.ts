import { left, right } from 'fp-ts/lib/Either.js'
import type * as t from 'io-ts'
import { makeCheckClaim } from '../../core/marketplace/claims/claims.ts'
import { makeReceiveApplication } from '../../core/marketplace/notifications/applications.ts'
import type { BindingInfo } from '../../core/marketplace/notifications/bindings.ts'
import {
  makeReceiveBind,
  refusalOfDeployment,
  refuseSender,
} from '../../core/marketplace/notifications/notifications.ts'
import type { NotificationLimits, NotificationSenders, NotificationLimiter } from '../../core/marketplace/ports.ts'
import {
  ArchiveLinksPort,
  ClaimAllowancePort,
  ClaimRulesPort,
  ClaimStorePort,
  InstallerStorePort,
  MarketplaceSettingsPort,
  MarketplaceUnitOfWorkPort,
  NotificationDigestPort,
  NotificationInboxPort,
  NotificationLimitsPort,
  NotificationRefused,
  NotificationSendersPort,
  NotificationLimiterPort,
} from '../../core/marketplace/ports.ts'
import { ClockPort } from '../../core/kernel/clock.ts'
import type { Failure, Outcome } from '../../core/kernel/failure.ts'
import { at, textAt } from '../../core/kernel/json.ts'
import { LogPort } from '../../core/kernel/log.ts'
import { EntropyPort } from '../../core/kernel/secret.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { EmptyAnswer } from '../kit/reply.ts'
import type { Admission } from '../kit/route.ts'
import type { CloudAWebhookNotification } from './codecs.ts'
import { checkClaim, receiveCloudA, receiveCloudB, receiveCloudC } from './notifications.routes.ts'

type WireBinding = t.TypeOf<typeof CloudAWebhookNotification>['bindingInfo']

const bindingOf = (info: WireBinding): BindingInfo => ({
  marketplace: info.marketplace,
  installerId: info.installerId,
  clusterId: info.clusterId,
  cloudAAccountID: info.cloudAAccountID,
  adminUsername: info.adminUsername,
})

type Settings = Parameters<typeof refusalOfDeployment>[0]

interface AdmissionDeps {
  readonly settings: Settings
  readonly senders: NotificationSenders
  readonly limits: NotificationLimits
}
type Admitting = Admission<'NotificationRefused' | 'TooManyNotifications'>

const wrongAddress = NotificationRefused('The address is not one from which installers send.')
const wrongSecret = NotificationRefused('The secret does not match.')

/** Installers of cloud A are known by their addresses. */
const byAddress = ({ settings, senders, limits }: AdmissionDeps): Admitting => ({
  bySender({ sourceIp }) {
    const refused = refusalOfDeployment(settings, 'CloudA')
    if (refused !== undefined) return left(refused)
    return senders.isInstallerAddress(sourceIp) ? right(true) : refuseSender(limits, sourceIp, wrongAddress)
  },
})

const bySecret = ({ settings, senders, limits }: AdmissionDeps): Admitting => ({
  bySender({ sourceIp }, query) {
    const refused = refusalOfDeployment(settings, 'CloudB')
    if (refused !== undefined) return left(refused)
    return senders.isSecret(query('secret')) ? right(true) : refuseSender(limits, sourceIp, wrongSecret)
  },
})

/** One installer may test notifications without the secret; only the body has its id. */
const bySecretOrTest = ({ settings, senders, limits }: AdmissionDeps): Admitting => ({
  bySender(_, query) {
    const refused = refusalOfDeployment(settings, 'CloudC')
    return refused === undefined ? right(senders.isSecret(query('secret'))) : left(refused)
  },
  byBody: (body, { sourceIp }) =>
    senders.isTestInstaller(textAt(at(body, 'bindingInfo'), 'installerId'))
      ? right(undefined)
      : refuseSender(limits, sourceIp, wrongSecret),
})

/** Returns the use case in the turns of notifications. The sender is proven, and the body is read, before it waits. */
const inTurn =
  ({ limiter }: { readonly limiter: NotificationLimiter }) =>
  <C, I, F extends Failure, A>(useCase: (call: C, input: I) => Outcome<F, A>) =>
  (call: C, input: I): Outcome<F, A> =>
    limiter.run(() => useCase(call, input))

/** The notifications of the marketplaces. */
export const notificationGroup = defineGroup({
  needs: {
    clock: ClockPort,
    digest: NotificationDigestPort,
    entropy: EntropyPort,
    inbox: NotificationInboxPort,
    installers: InstallerStorePort,
    limits: NotificationLimitsPort,
    links: ArchiveLinksPort,
    log: LogPort,
    senders: NotificationSendersPort,
    settings: MarketplaceSettingsPort,
    limiter: NotificationLimiterPort,
    unitOfWork: MarketplaceUnitOfWorkPort,
  },
  routes: (given) => {
    const deps = { ...given, newRef: () => given.entropy.uuid() }
    const bounded = inTurn(given)
    const receiveBind = bounded(makeReceiveBind(deps))
    const reply = (link: string | undefined) => ({ link: link ?? '' })
    return [
      handle(receiveCloudA, receiveBind, {
        admission: byAddress(given),
        input: ({ body }) => ({ ...body, marketplace: 'CloudA' as const, bindingInfo: bindingOf(body.bindingInfo) }),
        reply,
      }),
      handle(receiveCloudC, receiveBind, {
        admission: bySecretOrTest(given),
        input: ({ body }) => ({ ...body, marketplace: 'CloudC' as const, bindingInfo: bindingOf(body.bindingInfo) }),
        reply,
      }),
      handle(receiveCloudB, bounded(makeReceiveApplication(deps)), {
        admission: bySecret(given),
        input: ({ body }) => ({
          eventType: body.eventType,
          applicationId: body.applicationId,
          eventTime: body.eventTime,
          provisioningState: body.provisioningState,
          resourceUsageId: body.billingDetails?.resourceUsageId,
          plan: body.plan,
          error: body.error && { code: body.error.code ?? '', message: body.error.message ?? '' },
          bindingInfo: body.bindingInfo && bindingOf(body.bindingInfo),
        }),
        reply: (link) => (link === undefined ? new EmptyAnswer() : { link }),
      }),
    ]
  },
})

/** The public question about a claim. */
export const claimCheckGroup = defineGroup({
  needs: {
    allowance: ClaimAllowancePort,
    claims: ClaimStorePort,
    clock: ClockPort,
    entropy: EntropyPort,
    rules: ClaimRulesPort,
  },
  routes: (given) => [
    handle(checkClaim, makeCheckClaim(given), {
      input: ({ params }) => params.claimID,
      reply: ({ claimRef, isClaimable }) => ({ claimID: claimRef, isClaimable }),
    }),
  ],
})
