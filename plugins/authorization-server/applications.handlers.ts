import type { CreatedApplication } from '../../core/authorization-server/applications.ts'
import {
  makeCreateApplication,
  makeListApplications,
  makeRemoveApplication,
  makeReplaceApplication,
  makeRotateSecret,
  makeShowApplication,
  makeTrustApplication,
} from '../../core/authorization-server/applications.ts'
import { makeListConsents, makeWithdrawConsent } from '../../core/authorization-server/consents.ts'
import {
  ApplicationStorePort,
  AuthorizationServerUnitOfWorkPort,
  ConsentStorePort,
} from '../../core/authorization-server/ports.ts'
import type { Application } from '../../core/authorization-server/types.ts'
import { TokenDigestPort } from '../../core/identity/ports.ts'
import { ClockPort } from '../../core/kernel/clock.ts'
import { PictureMakerPort } from '../../core/kernel/picture.ts'
import { EntropyPort } from '../../core/kernel/secret.ts'
import { RobotStorePort } from '../../core/organizations/ports.ts'
import { orgOf } from '../kit/access.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { applicationWire, consentWire, formOf } from './application-wire.ts'
import {
  changeApplication,
  changeOrgApplication,
  changeSiteApplication,
  createApplication,
  createOrgApplication,
  createSiteApplication,
  getApplication,
  getOrgApplication,
  getSiteApplication,
  listApplications,
  listConsents,
  listOrgApplications,
  listSiteApplications,
  removeApplication,
  removeOrgApplication,
  removeSiteApplication,
  rotateOrgSecret,
  rotateSecret,
  rotateSiteSecret,
  trustApplication,
  withdrawConsent,
} from './applications.routes.ts'

const needs = {
  applications: ApplicationStorePort,
  clock: ClockPort,
  digest: TokenDigestPort,
  entropy: EntropyPort,
  pictures: PictureMakerPort,
  robots: RobotStorePort,
  unitOfWork: AuthorizationServerUnitOfWorkPort,
} as const

const shown = { reply: (application: Application) => applicationWire(application) }
const made = { reply: ({ application, secret }: CreatedApplication) => applicationWire(application, secret) }
const value = { reply: (secret: { reveal(): string }) => secret.reveal() }
const ofSite = { userId: undefined, orgId: undefined }

/** The applications of the caller. */
export const ownApplicationGroup = defineGroup({
  needs,
  routes: (given) => [
    handle(listApplications, makeListApplications(given), {
      input: ({ call, page }) => ({ owner: call.principal.userId, page }),
      ...shown,
    }),
    handle(createApplication, makeCreateApplication(given), {
      input: ({ call, body }) => ({ owner: { userId: call.principal.userId, orgId: undefined }, form: formOf(body) }),
      ...made,
    }),
    handle(getApplication, makeShowApplication(given), {
      input: ({ call, params }) => ({ owner: call.principal.userId, id: params.id }),
      ...shown,
    }),
    handle(changeApplication, makeReplaceApplication(given), {
      input: ({ call, params, body }) => ({ owner: call.principal.userId, id: params.id, form: formOf(body) }),
      ...shown,
    }),
    handle(removeApplication, makeRemoveApplication(given), {
      input: ({ call, params }) => ({ owner: call.principal.userId, id: params.id }),
    }),
    handle(rotateSecret, makeRotateSecret(given), {
      input: ({ call, params }) => ({ owner: call.principal.userId, id: params.id }),
      ...value,
    }),
  ],
})

/** The applications of organizations. */
export const orgApplicationGroup = defineGroup({
  needs,
  routes: (given) => [
    handle(listOrgApplications, makeListApplications(given), {
      input: ({ grant, page }) => ({ owner: orgOf(grant), page }),
      ...shown,
    }),
    handle(createOrgApplication, makeCreateApplication(given), {
      input: ({ grant, body }) => ({ owner: { userId: undefined, orgId: orgOf(grant) }, form: formOf(body) }),
      ...made,
    }),
    handle(getOrgApplication, makeShowApplication(given), {
      input: ({ grant, params }) => ({ owner: orgOf(grant), id: params.id }),
      ...shown,
    }),
    handle(changeOrgApplication, makeReplaceApplication(given), {
      input: ({ grant, params, body }) => ({ owner: orgOf(grant), id: params.id, form: formOf(body) }),
      ...shown,
    }),
    handle(removeOrgApplication, makeRemoveApplication(given), {
      input: ({ grant, params }) => ({ owner: orgOf(grant), id: params.id }),
    }),
    handle(rotateOrgSecret, makeRotateSecret(given), {
      input: ({ grant, params }) => ({ owner: orgOf(grant), id: params.id }),
      ...value,
    }),
  ],
})

/** The applications of the site, and whom the site trusts. */
export const siteApplicationGroup = defineGroup({
  needs,
  routes: (given) => [
    handle(listSiteApplications, makeListApplications(given), {
      input: ({ page }) => ({ owner: undefined, page }),
      ...shown,
    }),
    handle(createSiteApplication, makeCreateApplication(given), {
      input: ({ body }) => ({ owner: ofSite, form: formOf(body) }),
      ...made,
    }),
    handle(getSiteApplication, makeShowApplication(given), {
      input: ({ params }) => ({ owner: undefined, id: params.id }),
      ...shown,
    }),
    handle(changeSiteApplication, makeReplaceApplication(given), {
      input: ({ params, body }) => ({ owner: undefined, id: params.id, form: formOf(body) }),
      ...shown,
    }),
    handle(removeSiteApplication, makeRemoveApplication(given), {
      input: ({ params }) => ({ owner: undefined, id: params.id }),
    }),
    handle(rotateSiteSecret, makeRotateSecret(given), {
      input: ({ params }) => ({ owner: undefined, id: params.id }),
      ...value,
    }),
    handle(trustApplication, makeTrustApplication(given), {
      input: ({ params, body }) => ({ id: params.id, isTrusted: body.isTrusted }),
      ...shown,
    }),
  ],
})

/** What the caller has allowed. */
export const consentGroup = defineGroup({
  needs: { consents: ConsentStorePort, unitOfWork: AuthorizationServerUnitOfWorkPort },
  routes: (given) => [
    handle(listConsents, makeListConsents(given), { input: ({ page }) => page, reply: consentWire }),
    handle(withdrawConsent, makeWithdrawConsent(given), { input: ({ params }) => params.id }),
  ],
})
