import { flag, int, largeText, table, text } from '../kit/columns.ts'

export const siteSettings = table('site_settings', {
  name: text(64),
  value: text(255),
})

export const allowedDomains = table('allowed_domains', {
  domain: text(253),
})

export const branding = table('branding', {
  id: int(),
  logo: largeText(),
  favicon: largeText(),
  primaryColor: text(7),
  showAppTag: flag(),
  appName: text(64),
})
