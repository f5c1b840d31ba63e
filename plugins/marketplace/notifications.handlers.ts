import { left, right } from 'fp-ts/lib/Either.js'
import type * as t from 'io-ts'
import { makeCheckClaim } from '../../core/marketplace/claims/claims.ts'
import { makeReceiveApplication } from '../../core/marketplace/notifications/applications.ts'
import type { BindingInfo } from '../../core/marketplace/notifications/bindings.ts'
import { makeReceiveBind, refusalOfDeployment } from '../../core/marketplace/notifications/notifications.ts'
import type { NotificationSenders } from '../../core/marketplace/ports.ts'
import {
  ArchiveLinksToken,
  ClaimAllowanceToken,
  ClaimRulesToken,
  ClaimStoreToken,
  InstallerStoreToken,
  MarketplaceSettingsToken,
  MarketplaceUnitOfWorkToken,
  NotificationDigestToken,
  NotificationInboxToken,
  NotificationRefused,
  NotificationSendersToken,
} from '../../core/marketplace/ports.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import { at, textAt } from '../../core/kernel/json.ts'
import { LogToken } from '../../core/kernel/log.ts'
import { EntropyToken } from '../../core/kernel/secret.ts'
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
  adminPassword: info.adminPassword,
})

type Settings = Parameters<typeof refusalOfDeployment>[0]

const wrongAddress = left(NotificationRefused('The address is not one from which installers send.'))
const wrongSecret = left(NotificationRefused('The secret does not match.'))

/** Installers of cloud A are known by their addresses. */
const byAddress = (settings: Settings, senders: NotificationSenders): Admission<'NotificationRefused'> => ({
  bySender({ sourceIp }) {
    const refused = refusalOfDeployment(settings, 'CloudA')
    if (refused !== undefined) return left(refused)
    return senders.isInstallerAddress(sourceIp) ? right(true) : wrongAddress
  },
})

const bySecret = (settings: Settings, senders: NotificationSenders): Admission<'NotificationRefused'> => ({
  bySender(_, query) {
    const refused = refusalOfDeployment(settings, 'CloudB')
    if (refused !== undefined) return left(refused)
    return senders.isSecret(query('secret')) ? right(true) : wrongSecret
  },
})

/** One installer may test notifications without the secret; only the body has its id. */
const bySecretOrTest = (settings: Settings, senders: NotificationSenders): Admission<'NotificationRefused'> => ({
  bySender(_, query) {
    const refused = refusalOfDeployment(settings, 'CloudC')
    return refused === undefined ? right(senders.isSecret(query('secret'))) : left(refused)
  },
  byBody: (body) =>
    senders.isTestInstaller(textAt(at(body, 'bindingInfo'), 'installerId')) ? right(undefined) : wrongSecret,
})

/** The notifications of the marketplaces. */
export const notificationGroup = defineGroup({
  needs: {
    clock: ClockToken,
    digest: NotificationDigestToken,
    entropy: EntropyToken,
    inbox: NotificationInboxToken,
    installers: InstallerStoreToken,
    links: ArchiveLinksToken,
    log: LogToken,
    senders: NotificationSendersToken,
    settings: MarketplaceSettingsToken,
    unitOfWork: MarketplaceUnitOfWorkToken,
  },
  routes: (given) => {
    const { senders, settings } = given
    const deps = { ...given, newRef: () => given.entropy.uuid() }
    const receiveBind = makeReceiveBind(deps)
    const reply = (link: string | undefined) => ({ link: link ?? '' })
    return [
      handle(receiveCloudA, receiveBind, {
        admission: byAddress(settings, senders),
        input: ({ body }) => ({ ...body, marketplace: 'CloudA' as const, bindingInfo: bindingOf(body.bindingInfo) }),
        reply,
      }),
      handle(receiveCloudC, receiveBind, {
        admission: bySecretOrTest(settings, senders),
        input: ({ body }) => ({ ...body, marketplace: 'CloudC' as const, bindingInfo: bindingOf(body.bindingInfo) }),
        reply,
      }),
      handle(receiveCloudB, makeReceiveApplication(deps), {
        admission: bySecret(settings, senders),
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
    allowance: ClaimAllowanceToken,
    claims: ClaimStoreToken,
    clock: ClockToken,
    entropy: EntropyToken,
    rules: ClaimRulesToken,
  },
  routes: (given) => [
    handle(checkClaim, makeCheckClaim(given), {
      input: ({ params }) => params.claimID,
      reply: ({ claimRef, isClaimable }) => ({ claimID: claimRef, isClaimable }),
    }),
  ],
})
