import type { ApplicationParts } from '../types.ts'

/** Resource groups have 1 to 90 characters, applications 3 to 64. Case varies, and so does the first slash. */
const form =
  /^\/?subscriptions\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\/resourceGroups\/([\p{L}\p{N}._()-]{1,90})\/providers\/(Microsoft\.Solutions)\/applications\/([A-Za-z0-9._-]{3,64})$/iu

/** Returns the parts of the id of a managed application; undefined if the text is none. */
export const parseApplicationId = (text: string): ApplicationParts | undefined => {
  const [, clientSubscriptionId, resourceGroup, provider, application] = form.exec(text) ?? []
  return clientSubscriptionId === undefined ||
    resourceGroup === undefined ||
    provider === undefined ||
    application === undefined
    ? undefined
    : { clientSubscriptionId, resourceGroup, provider, application }
}

/** Returns the text by which ids of applications are compared: the provider changes case and the first slash. */
export const applicationKey = ({ clientSubscriptionId, resourceGroup, application }: ApplicationParts): string =>
  [clientSubscriptionId, resourceGroup, application].join('/').toLowerCase()
