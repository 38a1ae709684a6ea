/** A token that says by its form what it is. */
export interface TokenFormat {
  readonly name: string
  /** Without one of these in the text the pattern is not tried. */
  readonly hints: readonly string[]
  /** Global; bounded repetitions only, so that no text can make it slow. */
  readonly pattern: RegExp
}

/** The pattern stands alone: not inside a longer word. The letter of an escape, as in `\\n`, is no part of a word. */
const ALONE = String.raw`(?:(?<![A-Za-z0-9_])|(?<=\\[nrtbf0])|(?<=\\u[0-9a-fA-F]{4}))`
const alone = (source: string): RegExp => new RegExp(`${ALONE}(?:${source})(?![A-Za-z0-9])`, 'g')

const format = (name: string, hints: string | readonly string[], source: string): TokenFormat => ({
  name,
  hints: typeof hints === 'string' ? [hints] : hints,
  pattern: alone(source),
})

const W = '[A-Za-z0-9]'
const WD = '[A-Za-z0-9_-]'
const HEX = '[0-9a-f]'

/** Vendors' published forms. A vendor whose tokens look like any other text is found by its label or by value. */
export const TOKEN_FORMATS: readonly TokenFormat[] = [
  format('aws-access-key', ['AKIA', 'ASIA', 'ABIA', 'ACCA'], 'A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}'),
  format('github-token', ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'], `gh[pousr]_${W}{36,255}`),
  format('github-fine-grained-token', 'github_pat_', `github_pat_[A-Za-z0-9_]{22,255}`),
  format('gitlab-token', 'gl', `gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|oas)-${WD}{20,255}`),
  format('slack-token', 'xox', `xox[abeoprs]-[A-Za-z0-9-]{10,255}`),
  format('slack-app-token', 'xapp-', `xapp-[A-Za-z0-9-]{10,255}`),
  format(
    'slack-webhook',
    'hooks.slack.com',
    `https://hooks\\.slack\\.com/(?:services|workflows|triggers)/[A-Za-z0-9/]{20,200}`,
  ),
  format(
    'discord-webhook',
    '/webhooks/',
    `https://(?:ptb\\.|canary\\.)?discord(?:app)?\\.com/api/webhooks/\\d{15,20}/${WD}{40,120}`,
  ),
  format('discord-bot-token', '.', `[MNO]${WD}{22,27}\\.${WD}{6}\\.${WD}{27,40}`),
  format('anthropic-key', 'sk-ant-', `sk-ant-${WD}{20,255}`),
  format('openrouter-key', 'sk-or-', `sk-or-(?:v1-)?${WD}{32,128}`),
  format('openai-key', 'sk-', `sk-(?:proj-|svcacct-|admin-|None-)?${WD}{32,255}`),
  format('google-api-key', 'AIza', `AIza${WD}{35}`),
  format('google-oauth-token', 'ya29.', `ya29\\.${WD}{20,500}`),
  format('google-client-secret', 'GOCSPX-', `GOCSPX-${WD}{28}`),
  format('stripe-key', ['_live_', '_test_'], `(?:sk|rk|pk)_(?:live|test)_${W}{16,255}`),
  format('webhook-secret', 'whsec_', `whsec_[A-Za-z0-9+/=]{24,255}`),
  format('twilio-key', 'SK', `SK${HEX}{32}`),
  format('sendgrid-key', 'SG.', `SG\\.${WD}{16,32}\\.${WD}{16,64}`),
  format('mailgun-key', 'key-', `key-${HEX}{32}`),
  format('mailchimp-key', '-us', `${HEX}{32}-us\\d{1,2}`),
  format('npm-token', 'npm_', `npm_${W}{36}`),
  format('pypi-token', 'pypi-', `pypi-AgE${WD}{40,500}`),
  format('rubygems-key', 'rubygems_', `rubygems_${HEX}{48}`),
  format('crates-token', 'cio', `cio${W}{32}`),
  format('docker-token', 'dckr_', `dckr_(?:pat|oat)_${WD}{20,100}`),
  format('hugging-face-token', 'hf_', `hf_${W}{30,60}`),
  format('replicate-token', 'r8_', `r8_${W}{30,60}`),
  format('groq-key', 'gsk_', `gsk_${W}{40,80}`),
  format('perplexity-key', 'pplx-', `pplx-${W}{32,80}`),
  format('xai-key', 'xai-', `xai-${W}{60,120}`),
  format('digitalocean-token', '_v1_', `do[opr]_v1_${HEX}{64}`),
  format('heroku-key', 'HRKU-', `HRKU-${WD}{36,80}`),
  format('shopify-token', 'shp', `shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}`),
  format('square-token', 'sq0', `sq0(?:atp|csp|idp)-${WD}{22,60}`),
  format('telegram-bot-token', ':AA', `\\d{8,10}:AA${WD}{33}`),
  format(
    'atlassian-token',
    ['ATATT3', 'ATCTT3', 'ATBB'],
    `(?:AT[AC]TT3${WD}{50,300}(?:=[0-9A-F]{8})?|ATBB${W}{24,60})`,
  ),
  format('linear-key', 'lin_', `lin_(?:api|oauth)_${W}{32,64}`),
  format('notion-token', ['ntn_', 'secret_'], `(?:ntn_${W}{40,60}|secret_${W}{43})`),
  format('airtable-token', 'pat', `pat${W}{14}\\.${HEX}{64}`),
  format('figma-token', 'fig', `fig[dour]_${WD}{38,80}`),
  format('databricks-token', 'dapi', `dapi${HEX}{32}(?:-\\d)?`),
  format('vault-token', 'hv', `hv[sbr]\\.${WD}{24,255}`),
  format('terraform-token', '.atlasv1.', `${W}{14}\\.atlasv1\\.${WD}{60,80}`),
  format('grafana-token', ['glc_', 'glsa_'], `(?:glc_[A-Za-z0-9+/=]{32,400}|glsa_${W}{32}_[0-9a-fA-F]{8})`),
  format('newrelic-key', 'NRAK-', `NRAK-[A-Z0-9]{27}`),
  format('sentry-token', 'sntry', `sntry[su]_[A-Za-z0-9+/=_-]{40,400}`),
  format('postman-key', 'PMAK-', `PMAK-${HEX}{24}-${HEX}{34}`),
  format('planetscale-token', 'pscale_', `pscale_(?:tkn|pw|oauth)_${WD}{32,64}`),
  format('supabase-token', ['sbp_', 'sb_secret_'], `(?:sbp_${HEX}{40}|sb_secret_${WD}{20,60})`),
  format('doppler-token', 'dp.', `dp\\.(?:pt|st|ct|sa|scim|audit)\\.${WD}{40,60}`),
  format('pulumi-token', 'pul-', `pul-${HEX}{40}`),
  format('langsmith-key', 'lsv2_', `lsv2_(?:pt|sk)_${HEX}{32}_${HEX}{10}`),
  format('netlify-token', 'nfp_', `nfp_${W}{36,60}`),
  format('fly-token', 'fm', `fm[12][ar]?_[A-Za-z0-9+/=_-]{40,800}`),
  format('onepassword-token', 'ops_', `ops_eyJ${WD}{100,2000}`),
  format('alibaba-key', 'LTAI', `LTAI${W}{16,24}`),
  format('cloudflare-origin-key', 'v1.0-', `v1\\.0-${HEX}{24}-${HEX}{146}`),
  format('age-key', 'AGE-SECRET-KEY-', `AGE-SECRET-KEY-1[0-9A-Z]{58}`),
  {
    name: 'jwt',
    hints: ['eyJ'],
    // Not after a dash: a long run of `eyJ-` would otherwise be read anew from each of them.
    pattern: /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{10,1000}/g,
  },
]
