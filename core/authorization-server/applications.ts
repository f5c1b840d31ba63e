import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { TokenDigest } from '../identity/ports.ts'
import type { Clock } from '../kernel/clock.ts'
import { laterByDays } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { isSameJson } from '../kernel/json.ts'
import type { UserId } from '../kernel/ids.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import type { PictureMaker } from '../kernel/picture.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { Entropy, Secret } from '../kernel/secret.ts'
import { randomBase62, secret } from '../kernel/secret.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import type { RobotStore } from '../organizations/ports.ts'
import { auditOfApplication } from './audit.ts'
import { ApplicationChanged, ApplicationMissing, ApplicationRefused } from './failures.ts'
import type { ApplicationStore, AuthorizationServerStores } from './ports.ts'
import { removeAllRecords } from './records.ts'
import { checkOwnRequestUri, checkRedirectUri } from './redirect-uris.ts'
import type { Application, ApplicationId, ApplicationOwner, ApplicationSecrets } from './types.ts'

/** Maximum number of applications of one owner. */
const maxApplications = 100
const maxAddresses = 20
const longestName = 100
const clientIdLength = 32
/** 43 base62 characters are slightly more than 256 bits. */
const secretLength = 43
/** The secret before a rotation stays valid for this long. */
const formerSecretDays = 1
const logoSide = 128

/** What a form says of an application. Undefined leaves a field as it is. */
export interface ApplicationForm {
  readonly name: string | undefined
  /** One address for each line. */
  readonly redirectUri: string | undefined
  readonly postLogoutRedirectUri: string | undefined
  readonly backChannelLogoutUri: string | undefined
  readonly isPublic: boolean | undefined
  /** 0: none. */
  readonly robotId: number | undefined
  /** Empty bytes remove it. */
  readonly logo: Uint8Array | undefined
}

/** An application with its secret, which is available only here. */
export interface CreatedApplication {
  readonly application: Application
  readonly secret: Secret | undefined
}

/** The owner as rows name it. */
export type OwnerFields = Pick<Application, 'orgId' | 'userId'>
const ownerOf = ({ orgId, userId }: OwnerFields): ApplicationOwner => orgId ?? userId

const applicationMissing = (): Failure<'ApplicationMissing'> => ApplicationMissing('The application does not exist.')

type Read = Pick<Application, 'addresses' | 'isPublic' | 'name'>
type Shown = Read & Pick<Application, 'robotId'>

const linesOf = (text: string): readonly string[] =>
  text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '')

const readAddresses = (
  field: string,
  text: string,
  isPublic: boolean,
): Either<Failure<'ApplicationRefused'>, readonly string[]> => {
  const lines = [...new Set(linesOf(text))]
  if (lines.length > maxAddresses)
    return left(ApplicationRefused(`${field}: must have at most ${maxAddresses} addresses, one for each line.`))
  for (const line of lines) {
    const checked = checkRedirectUri(line, isPublic)
    if (isLeft(checked)) return left(ApplicationRefused(`${field}: ${line.slice(0, 200)} ${checked.left}.`))
  }
  return right(lines)
}

const readForm = (
  form: ApplicationForm,
  before: Application | undefined,
): Either<Failure<'ApplicationRefused'>, Read> => {
  const name = (form.name ?? before?.name ?? '').trim()
  if (name === '' || name.length > longestName)
    return left(ApplicationRefused(`name: must have 1 to ${longestName} characters.`))
  const isPublic = form.isPublic ?? before?.isPublic ?? false
  if (before !== undefined && isPublic !== before.isPublic)
    return left(ApplicationRefused('isPublic: cannot be changed. Register another application.'))
  const redirectUris = readAddresses(
    'redirectUri',
    form.redirectUri ?? before?.addresses.redirectUris.join('\n') ?? '',
    isPublic,
  )
  if (isLeft(redirectUris)) return redirectUris
  const postLogoutRedirectUris = readAddresses(
    'postLogoutRedirectUri',
    form.postLogoutRedirectUri ?? before?.addresses.postLogoutRedirectUris.join('\n') ?? '',
    isPublic,
  )
  if (isLeft(postLogoutRedirectUris)) return postLogoutRedirectUris
  const backChannelLogoutUri = (form.backChannelLogoutUri ?? before?.addresses.backChannelLogoutUri ?? '').trim()
  const channel = backChannelLogoutUri === '' ? right('') : checkOwnRequestUri(backChannelLogoutUri)
  if (isLeft(channel)) return left(ApplicationRefused(`backChannelLogoutUri: ${channel.left}.`))
  return right({
    name,
    isPublic,
    addresses: {
      redirectUris: redirectUris.right,
      postLogoutRedirectUris: postLogoutRedirectUris.right,
      backChannelLogoutUri,
    },
  })
}

interface ReadDeps {
  readonly applications: ApplicationStore
}

export interface OwnedApplication {
  readonly owner: ApplicationOwner
  readonly id: ApplicationId
}

/** Lists the applications of an owner, by id. */
export const makeListApplications =
  ({ applications }: ReadDeps) =>
  async (
    _call: SignedInCall<never>,
    { owner, page }: { readonly owner: ApplicationOwner; readonly page: PageRequest },
  ): Outcome<never, Page<Application>> =>
    right(await applications.list(owner, page))

export const makeShowApplication =
  ({ applications }: ReadDeps) =>
  async (
    _call: SignedInCall<never>,
    { owner, id }: OwnedApplication,
  ): Outcome<Failure<'ApplicationMissing'>, Application> => {
    const application = await applications.find(owner, id)
    return application === undefined ? left(applicationMissing()) : right(application)
  }

export interface ChangeApplicationDeps extends ReadDeps {
  readonly unitOfWork: UnitOfWork<AuthorizationServerStores>
  readonly pictures: PictureMaker
  readonly robots: Pick<RobotStore, 'find'>
  readonly digest: TokenDigest
  readonly entropy: Entropy
  readonly clock: Clock
}

type SaveFailure = Failure<'ApplicationRefused'> | Failure<'PictureRefused'>

const shown = ({ addresses, isPublic, robotId }: Shown) => ({
  robot: robotId ?? 0,
  is_public: isPublic,
  redirect_uris: addresses.redirectUris,
  post_logout_redirect_uris: addresses.postLogoutRedirectUris,
  back_channel_logout_uri: addresses.backChannelLogoutUri,
})

/** Returns the robot account as which the application acts: one of the organization that owns the application. */
const robotOf = async (
  { robots }: ChangeApplicationDeps,
  { orgId }: OwnerFields,
  { isPublic }: Read,
  sent: number | undefined,
  before: UserId | undefined,
): Outcome<Failure<'ApplicationRefused'>, UserId | undefined> => {
  if (sent === undefined) return right(before)
  if (sent === 0) return right(undefined)
  const robot = orgId === undefined || isPublic ? undefined : await robots.find(orgId, sent as UserId)
  return robot === undefined
    ? left(
        ApplicationRefused(
          'robotId: must be a robot account of the organization that owns the application, which keeps a secret.',
        ),
      )
    : right(robot.id)
}

const logoOf = async (
  { pictures }: ChangeApplicationDeps,
  sent: Uint8Array | undefined,
  before: Uint8Array | undefined,
): Outcome<Failure<'PictureRefused'>, Uint8Array | undefined> => {
  if (sent === undefined) return right(before)
  return sent.length === 0 ? right(undefined) : pictures.square(sent, logoSide)
}

/** Registers an application. A confidential one gets a secret, which is never shown again. */
export const makeCreateApplication =
  (deps: ChangeApplicationDeps) =>
  async (
    call: SignedInCall<CreatedApplication>,
    { owner, form }: { readonly owner: OwnerFields; readonly form: ApplicationForm },
  ): Outcome<SaveFailure, CreatedApplication> => {
    const read = readForm(form, undefined)
    if (isLeft(read)) return read
    const logo = await logoOf(deps, form.logo, undefined)
    if (isLeft(logo)) return logo
    const robotId = await robotOf(deps, owner, read.right, form.robotId, undefined)
    if (isLeft(robotId)) return robotId
    const value = read.right.isPublic ? undefined : randomBase62(deps.entropy, secretLength)
    return deps.unitOfWork.run<SaveFailure, CreatedApplication>(call, async ({ applications, audit }) => {
      if ((await applications.count(ownerOf(owner))) >= maxApplications)
        return left(ApplicationRefused(`There are ${maxApplications} applications already. Remove one first.`))
      const id = await applications.insert({
        ...read.right,
        owner,
        logo: logo.right,
        robotId: robotId.right,
        clientId: randomBase62(deps.entropy, clientIdLength),
        secretHash: value === undefined ? undefined : deps.digest.digest(value),
        formerSecretHash: undefined,
        formerSecretUntil: undefined,
        createdAt: deps.clock.now(),
      })
      const application = id === undefined ? undefined : await applications.find(ownerOf(owner), id)
      if (application === undefined) throw new Error('an application that was just inserted is not there')
      await audit.record(auditOfApplication(application, 'application.created', shown(application)))
      return right({ application, secret: value === undefined ? undefined : secret(value) })
    })
  }

export interface ReplaceApplicationInput extends OwnedApplication {
  readonly form: ApplicationForm
}

type ReplaceFailure = SaveFailure | Failure<'ApplicationMissing'> | Failure<'ApplicationChanged'>

const changed = (): Failure<'ApplicationChanged'> =>
  ApplicationChanged('Another request changed the application. Read it and try again.')

/** Changes an application. What the form leaves out stays. */
export const makeReplaceApplication =
  (deps: ChangeApplicationDeps) =>
  async (
    call: SignedInCall<Application>,
    { owner, id, form }: ReplaceApplicationInput,
  ): Outcome<ReplaceFailure, Application> => {
    const before = await deps.applications.find(owner, id)
    if (before === undefined) return left(applicationMissing())
    const read = readForm(form, before)
    if (isLeft(read)) return read
    const logo = await logoOf(deps, form.logo, before.logo)
    if (isLeft(logo)) return logo
    const robotId = await robotOf(deps, before, read.right, form.robotId, before.robotId)
    if (isLeft(robotId)) return robotId
    return deps.unitOfWork.run<ReplaceFailure, Application>(call, async ({ applications, audit }) => {
      const content = { ...before, ...read.right, logo: logo.right, robotId: robotId.right }
      if (!(await applications.replace(before, content, deps.clock.now()))) return left(changed())
      const application = await applications.find(owner, id)
      if (application === undefined) return left(changed())
      if (form.logo !== undefined || !isSameJson(shown(before), shown(application)) || before.name !== application.name)
        await audit.record(auditOfApplication(application, 'application.changed', shown(application)))
      return right(application)
    })
  }

/** Makes a new secret. The one before stays valid for a day, so that programs can be changed one after the other. */
export const makeRotateSecret =
  (deps: ChangeApplicationDeps) =>
  async (
    call: SignedInCall<Secret>,
    { owner, id }: OwnedApplication,
  ): Outcome<Failure<'ApplicationMissing'> | Failure<'ApplicationRefused'> | Failure<'ApplicationChanged'>, Secret> => {
    const before = await deps.applications.find(owner, id)
    if (before === undefined) return left(applicationMissing())
    if (before.isPublic) return left(ApplicationRefused('A public application has no secret: it could not keep one.'))
    const value = randomBase62(deps.entropy, secretLength)
    const now = deps.clock.now()
    const secrets: ApplicationSecrets = {
      secretHash: deps.digest.digest(value),
      formerSecretHash: before.secretHash,
      formerSecretUntil: laterByDays(now, formerSecretDays),
    }
    return deps.unitOfWork.run<Failure<'ApplicationChanged'>, Secret>(call, async ({ applications, audit }) => {
      if (!(await applications.replaceSecrets(before, secrets, now))) return left(changed())
      await audit.record(auditOfApplication(before, 'application.secret_rotated'))
      return right(secret(value))
    })
  }

/** Removes an application. All that it was allowed ends, and its access tokens with it. */
export const makeRemoveApplication =
  (deps: Pick<ChangeApplicationDeps, 'applications' | 'unitOfWork'>) =>
  async (call: SignedInCall<void>, { owner, id }: OwnedApplication): Outcome<Failure<'ApplicationMissing'>, void> => {
    const application = await deps.applications.find(owner, id)
    if (application === undefined) return left(applicationMissing())
    return deps.unitOfWork.run<Failure<'ApplicationMissing'>, void>(call, async (stores) => {
      await removeAllRecords(stores, () => stores.records.ofApplication(id, undefined))
      if (!(await stores.applications.remove(id))) return left(applicationMissing())
      await stores.audit.record(auditOfApplication(application, 'application.deleted'))
      return right(undefined)
    })
  }

/** For site admins: says whether people are asked before they use an application of any owner. */
export const makeTrustApplication =
  (deps: Pick<ChangeApplicationDeps, 'applications' | 'clock' | 'unitOfWork'>) =>
  async (
    call: SignedInCall<Application>,
    { id, isTrusted }: { readonly id: ApplicationId; readonly isTrusted: boolean },
  ): Outcome<Failure<'ApplicationMissing'>, Application> =>
    deps.unitOfWork.run<Failure<'ApplicationMissing'>, Application>(call, async ({ applications, audit }) => {
      const before = await applications.byId(id)
      if (before === undefined) return left(applicationMissing())
      if (before.isTrusted !== isTrusted) {
        await applications.setTrusted(id, isTrusted, deps.clock.now())
        await audit.record(
          auditOfApplication(before, isTrusted ? 'application.trusted' : 'application.not_trusted', {
            client_id: before.clientId,
          }),
        )
      }
      return right((await applications.byId(id)) ?? before)
    })
