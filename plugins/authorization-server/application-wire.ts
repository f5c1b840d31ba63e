import type { ApplicationForm } from '../../core/authorization-server/applications.ts'
import type { Application, ShownConsent } from '../../core/authorization-server/types.ts'
import { unixSeconds } from '../../core/kernel/clock.ts'
import { pictureType } from '../../core/kernel/picture.ts'
import type { Secret } from '../../core/kernel/secret.ts'

const base64Of = (bytes: Uint8Array): string => {
  let binary = ''
  for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192))
  return btoa(binary)
}

/** Returns a picture as an address that needs no request. */
export const logoUrl = (logo: Uint8Array | undefined): string =>
  logo === undefined ? '' : `data:${pictureType};base64,${base64Of(logo)}`

export const applicationWire = (application: Application, secret?: Secret) => ({
  id: application.id,
  uid: application.userId ?? 0,
  orgId: application.orgId ?? 0,
  name: application.name,
  clientId: application.clientId,
  clientSecret: secret?.reveal() ?? '',
  clientSecretHash: '',
  redirectURIs: [...application.addresses.redirectUris],
  postLogoutRedirectURIs: [...application.addresses.postLogoutRedirectUris],
  backChannelLogoutURI: application.addresses.backChannelLogoutUri,
  isPublic: application.isPublic,
  isTrusted: application.isTrusted,
  robotId: application.robotId ?? 0,
  logo: logoUrl(application.logo),
  createdAt: unixSeconds(application.createdAt),
  updatedAt: unixSeconds(application.updatedAt),
})

interface SentForm {
  readonly name?: string | undefined
  readonly redirectUri?: string | undefined
  readonly postLogoutRedirectUri?: string | undefined
  readonly backChannelLogoutUri?: string | undefined
  readonly isPublic?: boolean | 'true' | 'false' | undefined
  /** A form sends digits. */
  readonly robotId?: number | string | undefined
  readonly logo?: Uint8Array | '' | undefined
}

export const formOf = ({ isPublic, logo, robotId, ...sent }: SentForm): ApplicationForm => ({
  name: sent.name,
  redirectUri: sent.redirectUri,
  postLogoutRedirectUri: sent.postLogoutRedirectUri,
  backChannelLogoutUri: sent.backChannelLogoutUri,
  isPublic: isPublic === undefined ? undefined : isPublic === true || isPublic === 'true',
  robotId: robotId === undefined ? undefined : Number(robotId),
  logo: logo === '' ? new Uint8Array() : logo,
})

export const consentWire = (consent: ShownConsent) => ({
  id: consent.id,
  userId: consent.userId,
  applicationId: consent.applicationId,
  applicationName: consent.applicationName,
  scopes: [...consent.scopes],
  logo: logoUrl(consent.logo),
  counter: consent.counter,
  createdAt: unixSeconds(consent.createdAt),
  updatedAt: unixSeconds(consent.updatedAt),
})
