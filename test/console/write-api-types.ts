import { mkdirSync, writeFileSync } from 'node:fs'
import openapiTs, { astToString } from 'openapi-typescript'
import { buildDocument } from '../../composition/runtime/http/openapi/document.ts'
import { declaredRoutes, documentTags } from '../support/declared-routes.ts'

/** Writes the types of the API, of every deployment, by which the scripts of the console are checked. */
const folder = new URL('../../node_modules/.cache/console/', import.meta.url)

const document = buildDocument(declaredRoutes(), {
  baseUrl: '',
  sessionCookie: 'session',
  deployment: { type: 'VendorHosted', billingEnabled: true, runMode: 'production' },
  tags: documentTags,
})
mkdirSync(folder, { recursive: true })
writeFileSync(new URL('api.d.ts', folder), astToString(await openapiTs(JSON.stringify(document))))
