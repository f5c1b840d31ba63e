import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { defineAudit } from '../kernel/unit-of-work.ts'
import type { AuditTrail, UnitOfWork } from '../kernel/unit-of-work.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { Branding, BrandingStore } from './ports.ts'

export const BrandingRefused = defineFailure(
  'BrandingRefused',
  'Unprocessable',
  'A field of the branding is not valid.',
)

/** The branding is that of the site, which has no id. */
const auditOf = defineAudit('site', ['branding.changed'], (_branding: Branding) => ({}))

/** The default branding. */
export const plainBranding: Branding = {
  logo: '',
  favicon: '',
  primaryColor: '#0b6070',
  showAppTag: true,
  appName: 'Moorage',
}

const maxPictureBytes = 256 * 1024
export const maxAppNameLength = 64

/** The signature of each picture format, in Latin-1; `.` matches any byte. None of these formats carries scripts. */
const kinds: Readonly<Record<string, RegExp>> = {
  'image/png': /^\x89PNG\r\n\x1a\n/,
  'image/jpeg': /^\xff\xd8\xff/,
  'image/webp': /^RIFF[\s\S]{4}WEBP/,
}
const dataUrl = /^data:(image\/(?:png|jpeg|webp));base64,([A-Za-z0-9+/]+={0,2})$/
const color = /^#[0-9a-f]{6}$/

/**
 * Returns what is wrong with a picture, or undefined if it is valid. Its first bytes must match its declared type.
 *
 * @internal
 */
export const pictureProblem = (text: string): string | undefined => {
  if (text === '') return undefined
  const [, kind, encoded] = dataUrl.exec(text) ?? []
  if (kind === undefined || encoded === undefined || encoded.length % 4 !== 0)
    return 'Send a PNG, JPEG or WebP as a data: URL in base64.'
  const padding = encoded.endsWith('==') ? 2 : encoded.endsWith('=') ? 1 : 0
  if ((encoded.length / 4) * 3 - padding > maxPictureBytes)
    return `A picture has at most ${maxPictureBytes / 1024} KiB.`
  return kinds[kind]?.test(atob(encoded.slice(0, 32))) === true ? undefined : `This is no ${kind}.`
}

/**
 * Merges a change into the current branding. An absent field keeps its value; an empty text restores the default.
 *
 * @internal
 */
export const mergeBranding = (
  current: Branding,
  chosen: Partial<Branding>,
): Either<Failure<'BrandingRefused'>, Branding> => {
  for (const field of ['logo', 'favicon'] as const) {
    const problem = pictureProblem(chosen[field] ?? '')
    if (problem !== undefined) return left(BrandingRefused(`${field}: ${problem}`))
  }
  const primaryColor = (chosen.primaryColor ?? current.primaryColor).toLowerCase() || plainBranding.primaryColor
  if (!color.test(primaryColor)) return left(BrandingRefused('primaryColor: Write the color as #rrggbb.'))
  const appName = (chosen.appName ?? current.appName).trim() || plainBranding.appName
  if (appName.length > maxAppNameLength || /\p{Cc}/u.test(appName)) {
    return left(BrandingRefused(`appName: A name has at most ${maxAppNameLength} characters, on one line.`))
  }
  return right({ ...current, ...chosen, primaryColor, appName })
}

/** Changes the branding of the consoles. */
export const makeChangeBranding =
  (deps: { readonly unitOfWork: UnitOfWork<{ readonly branding: BrandingStore; readonly audit: AuditTrail }> }) =>
  (call: SignedInCall, chosen: Partial<Branding>): Outcome<Failure<'BrandingRefused'>, void> =>
    deps.unitOfWork.run<Failure<'BrandingRefused'>, void>(call, async ({ branding, audit }) => {
      const current = (await branding.read()) ?? plainBranding
      const merged = mergeBranding(current, chosen)
      if (isLeft(merged)) return merged
      const changed = (Object.keys(current) as (keyof Branding)[]).filter(
        (field) => merged.right[field] !== current[field],
      )
      if (changed.length === 0) return right(undefined)
      await branding.put(merged.right)
      await audit.record(auditOf(merged.right, 'branding.changed', { fields: changed }))
      return right(undefined)
    })
