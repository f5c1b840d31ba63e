import * as t from 'io-ts'
import { BrandingRefused, maxAppNameLength } from '../../core/platform/change-branding.ts'
import { anyone, siteAdmin, write } from '../kit/access.ts'
import { answer, freeText, FreeObjectCodec, optional, request } from '../kit/codecs.ts'
import { empty, json } from '../kit/reply.ts'
import { body, defineRoute } from '../kit/route.ts'

const tag = 'Administration'

const BrandingResponse = answer(
  {
    logo: t.string,
    favicons: FreeObjectCodec,
    primaryColor: t.string,
    runMode: t.string,
    deploymentType: t.string,
    isOfflineInstaller: t.boolean,
    showAppTag: t.boolean,
    appName: t.string,
  },
  'BrandingResponse',
)

/** 256 KiB in base64, with what stands before it. */
const picture = freeText(350_000)
const BrandingOptions = request(
  {
    logo: optional(picture),
    favicon: optional(picture),
    primaryColor: optional(freeText(7)),
    showAppTag: optional(t.boolean),
    appName: optional(freeText(maxAppNameLength)),
  },
  'BrandingOptions',
)

export const getBranding = defineRoute({
  id: 'platform.getBranding',
  method: 'GET',
  path: '/branding',
  summary: 'Tell how the console looks',
  description: 'Pictures are `data:` URLs, empty when there is none; `favicons.icon` is the one favicon.',
  tag,
  access: anyone,
  ok: json(200, BrandingResponse, {
    logo: '', favicons: {}, primaryColor: '#0b6070', runMode: 'production', deploymentType: 'SelfHosted', isOfflineInstaller: false, showAppTag: true, appName: 'Moorage',
  }),
  failures: [],
})

export const changeBranding = defineRoute({
  id: 'platform.changeBranding',
  method: 'POST',
  path: '/branding',
  summary: 'Change how the console looks; what is absent stays as it is, an empty text goes back to the plain one',
  description: 'Pictures are PNG, JPEG or WebP of at most 256 KiB as `data:` URLs in base64. SVG is refused: it can carry scripts.',
  tag,
  access: siteAdmin,
  scope: write('admin'),
  body: body(BrandingOptions, { primaryColor: '#224466', appName: 'Harbour' }),
  ok: empty(200),
  failures: [BrandingRefused],
})
