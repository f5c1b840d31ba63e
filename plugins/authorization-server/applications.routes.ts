import * as t from 'io-ts'
import { ApplicationChanged, ApplicationMissing, ApplicationRefused } from '../../core/authorization-server/failures.ts'
import { PictureRefused } from '../../core/kernel/picture.ts'
import { requires, signedIn, siteAdmin } from '../kit/access.ts'
import { empty, json, list } from '../kit/reply.ts'
import { body, pictureBodyBytes, routesOf } from '../kit/route.ts'
import {
  AnyApplicationPath,
  OAuth2Application,
  OAuth2ApplicationParams,
  OAuth2Grant,
  organizationInPath,
  OrgApplicationPath,
  OrgApplicationsPath,
  OwnApplicationPath,
  SiteApplicationPath,
  TrustOption,
} from './codecs.ts'

const own = { tag: 'Identity - Users & Settings', access: signedIn, scopeCategory: 'user' } as const
const ofOrg = {
  tag: 'Identity - Organizations & Teams',
  access: requires('owner', organizationInPath),
  scopeCategory: 'organization',
} as const
const ofSite = { tag: 'Administration', access: siteAdmin, scopeCategory: 'admin' } as const

const ownRoute = routesOf(own)
const ownApplication = routesOf({ ...own, params: OwnApplicationPath, failures: [ApplicationMissing] })
const orgRoute = routesOf({ ...ofOrg, params: OrgApplicationsPath })
const orgApplication = routesOf({ ...ofOrg, params: OrgApplicationPath, failures: [ApplicationMissing] })
const siteRoute = routesOf(ofSite)
const siteApplication = routesOf({ ...ofSite, params: SiteApplicationPath, failures: [ApplicationMissing] })

const root = '/user/settings/applications/oauth2'
const orgRoot = '/orgs/{orgname}/applications/oauth2'
const siteRoot = '/accounts/admin/applications/oauth2'

const example = {
  id: 4,
  uid: 7,
  orgId: 0,
  name: 'Grafana',
  clientId: 'Xk3vJ8hQz2mT5wYb7nC9dF1gR4sL6pAe',
  clientSecret: '',
  clientSecretHash: '',
  redirectURIs: ['https://grafana.example.com/login/generic_oauth'],
  postLogoutRedirectURIs: [],
  backChannelLogoutURI: '',
  isPublic: false,
  isTrusted: false,
  robotId: 0,
  logo: '',
  createdAt: 1_795_651_200,
  updatedAt: 1_795_651_200,
}
const created = { ...example, clientSecret: 'the secret, shown only here' }
const sent = { name: 'Grafana', redirectUri: 'https://grafana.example.com/login/generic_oauth' }
const form = { limitBytes: pictureBodyBytes, orForm: true } as const
const saveFailures = [ApplicationRefused, PictureRefused]

const secretText = 'The answer has the secret, which is never shown again. '
const changeText =
  'What the body leaves out stays, and so does the secret. People who are signed in stay so; new addresses hold at once.'
const rotateText =
  'Returns the new secret, which is never shown again. The one before stays valid for a day. A public application has none.'
const removeText = 'All access tokens, refresh tokens and consents of the application end.'

export const listApplications = ownRoute({
  id: 'authorizationServer.listApplications',
  method: 'GET',
  path: root,
  summary: "List the caller's applications",
  description: 'Programs that sign people in with this service, or act for them, in the order of their ids.',
  ok: list(OAuth2Application, example),
})

export const createApplication = ownRoute({
  id: 'authorizationServer.createApplication',
  method: 'POST',
  path: root,
  summary: 'Register an application of the caller',
  description: `${secretText}Codes need PKCE, and redirect URIs are compared exactly.`,
  refusesSudo: true,
  body: body(OAuth2ApplicationParams, sent, form),
  ok: json(200, OAuth2Application, created),
  failures: saveFailures,
})

export const getApplication = ownApplication({
  id: 'authorizationServer.getApplication',
  method: 'GET',
  path: `${root}/{id}`,
  summary: 'Get an application of the caller',
  description: 'The secret is never returned.',
  ok: json(200, OAuth2Application, example),
})

export const changeApplication = ownApplication({
  id: 'authorizationServer.changeApplication',
  method: 'PUT',
  path: `${root}/{id}`,
  summary: 'Change an application of the caller',
  description: changeText,
  refusesSudo: true,
  body: body(OAuth2ApplicationParams, sent, form),
  ok: json(200, OAuth2Application, example),
  failures: [...saveFailures, ApplicationChanged],
})

export const removeApplication = ownApplication({
  id: 'authorizationServer.removeApplication',
  method: 'DELETE',
  path: `${root}/{id}`,
  summary: 'Remove an application of the caller',
  description: removeText,
  refusesSudo: true,
  ok: empty(200),
})

export const rotateSecret = ownApplication({
  id: 'authorizationServer.rotateSecret',
  method: 'POST',
  path: `${root}/{id}/regenerate_secret`,
  summary: 'Make a new secret of an application of the caller',
  description: rotateText,
  refusesSudo: true,
  ok: json(200, t.string, 'the new secret'),
  failures: [ApplicationRefused, ApplicationChanged],
})

export const withdrawConsent = ownRoute({
  id: 'authorizationServer.withdrawConsent',
  method: 'POST',
  path: `${root}/{id}/revoke`,
  summary: 'Withdraw what the caller has allowed an application',
  description:
    "Of any owner. The application's access tokens and refresh tokens for the caller end at once. Nothing changes if " +
    'nothing was allowed.',
  params: AnyApplicationPath,
  ok: empty(200),
})

export const listConsents = ownRoute({
  id: 'authorizationServer.listConsents',
  method: 'GET',
  path: `${root}/grants`,
  summary: 'List what the caller has allowed applications',
  description: 'Newest first. Withdraw one with `POST /user/settings/applications/oauth2/{id}/revoke`.',
  ok: list(OAuth2Grant, {
    id: 9,
    userId: 7,
    applicationId: 4,
    applicationName: 'Grafana',
    scopes: ['openid', 'profile', 'email', 'groups'],
    logo: '',
    counter: 3,
    createdAt: 1_795_651_200,
    updatedAt: 1_795_737_600,
  }),
})

export const listOrgApplications = orgRoute({
  id: 'authorizationServer.listOrgApplications',
  method: 'GET',
  path: orgRoot,
  summary: 'List the applications of an organization',
  description: 'For owners, in the order of their ids. Their tokens reach this organization only.',
  ok: list(OAuth2Application, { ...example, uid: 0, orgId: 12 }),
})

export const createOrgApplication = orgRoute({
  id: 'authorizationServer.createOrgApplication',
  method: 'POST',
  path: orgRoot,
  summary: 'Register an application of an organization',
  description: `${secretText}Its tokens, and the groups that it gets, are those of the organization only.`,
  refusesSudo: true,
  body: body(OAuth2ApplicationParams, sent, form),
  ok: json(201, OAuth2Application, { ...created, uid: 0, orgId: 12 }, 'Registered'),
  failures: saveFailures,
})

export const getOrgApplication = orgApplication({
  id: 'authorizationServer.getOrgApplication',
  method: 'GET',
  path: `${orgRoot}/{id}`,
  summary: 'Get an application of an organization',
  description: 'For owners. The secret is never returned.',
  ok: json(200, OAuth2Application, { ...example, uid: 0, orgId: 12 }),
})

export const changeOrgApplication = orgApplication({
  id: 'authorizationServer.changeOrgApplication',
  method: 'PUT',
  path: `${orgRoot}/{id}`,
  summary: 'Change an application of an organization',
  description: changeText,
  refusesSudo: true,
  body: body(OAuth2ApplicationParams, sent, form),
  ok: json(200, OAuth2Application, { ...example, uid: 0, orgId: 12 }),
  failures: [...saveFailures, ApplicationChanged],
})

export const removeOrgApplication = orgApplication({
  id: 'authorizationServer.removeOrgApplication',
  method: 'DELETE',
  path: `${orgRoot}/{id}`,
  summary: 'Remove an application of an organization',
  description: removeText,
  refusesSudo: true,
  ok: empty(204),
})

export const rotateOrgSecret = orgApplication({
  id: 'authorizationServer.rotateOrgSecret',
  method: 'POST',
  path: `${orgRoot}/{id}/regenerate_secret`,
  summary: 'Make a new secret of an application of an organization',
  description: rotateText,
  refusesSudo: true,
  ok: json(200, t.string, 'the new secret'),
  failures: [ApplicationRefused, ApplicationChanged],
})

export const listSiteApplications = siteRoute({
  id: 'authorizationServer.listSiteApplications',
  method: 'GET',
  path: siteRoot,
  summary: 'List the applications of the site',
  description: 'For site admins, in the order of their ids.',
  ok: list(OAuth2Application, { ...example, uid: 0 }),
})

export const createSiteApplication = siteRoute({
  id: 'authorizationServer.createSiteApplication',
  method: 'POST',
  path: siteRoot,
  summary: 'Register an application of the site',
  description: `${secretText}People are asked for consent until a site admin trusts it.`,
  refusesSudo: true,
  body: body(OAuth2ApplicationParams, sent, form),
  ok: json(201, OAuth2Application, { ...created, uid: 0 }, 'Registered'),
  failures: saveFailures,
})

export const getSiteApplication = siteApplication({
  id: 'authorizationServer.getSiteApplication',
  method: 'GET',
  path: `${siteRoot}/{id}`,
  summary: 'Get an application of the site',
  description: 'For site admins. The secret is never returned.',
  ok: json(200, OAuth2Application, { ...example, uid: 0 }),
})

export const changeSiteApplication = siteApplication({
  id: 'authorizationServer.changeSiteApplication',
  method: 'PUT',
  path: `${siteRoot}/{id}`,
  summary: 'Change an application of the site',
  description: changeText,
  refusesSudo: true,
  body: body(OAuth2ApplicationParams, sent, form),
  ok: json(200, OAuth2Application, { ...example, uid: 0 }),
  failures: [...saveFailures, ApplicationChanged],
})

export const removeSiteApplication = siteApplication({
  id: 'authorizationServer.removeSiteApplication',
  method: 'DELETE',
  path: `${siteRoot}/{id}`,
  summary: 'Remove an application of the site',
  description: removeText,
  refusesSudo: true,
  ok: empty(204),
})

export const rotateSiteSecret = siteApplication({
  id: 'authorizationServer.rotateSiteSecret',
  method: 'POST',
  path: `${siteRoot}/{id}/regenerate_secret`,
  summary: 'Make a new secret of an application of the site',
  description: rotateText,
  refusesSudo: true,
  ok: json(200, t.string, 'the new secret'),
  failures: [ApplicationRefused, ApplicationChanged],
})

export const trustApplication = siteRoute({
  id: 'authorizationServer.trustApplication',
  method: 'PUT',
  path: `${siteRoot}/{id}/trust`,
  summary: 'Say whether people use an application without being asked',
  description:
    'For site admins, for an application of any owner. A trusted confidential application may also introspect the ' +
    'tokens of others.',
  refusesSudo: true,
  params: AnyApplicationPath,
  body: body(TrustOption, { isTrusted: true }),
  ok: json(200, OAuth2Application, { ...example, isTrusted: true }),
  failures: [ApplicationMissing],
})
