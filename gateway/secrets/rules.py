"""The table of what a credential looks like: our own, written from what the vendors document of their formats.

Rule 1: a pattern is of RE2's dialect (`secret_engine`), each repeat single, so that a text costs what it is long.
Rule 2: the first group that took part is the secret; without groups it is the whole match.
Rule 3: an earlier row names the kind where two rows find the same place.
Rule 4: no example stands here: a file of examples is a file of findings.
"""

from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from gateway.secrets import checks as check
from gateway.secrets import ids, seeds
from gateway.secrets import numbers as number
from gateway.secrets.checks import Range, RuleMatch
from gateway.secrets.engine import Pattern

View: TypeAlias = Literal["token", "text", "prose"]
"""Where a rule looks. `token`: the text, its lines joined, what escapes encode; `text`: the text; `prose`: it in lower case."""
Check: TypeAlias = Callable[[RuleMatch], Range | None]


class Rule(msgspec.Struct, frozen=True):
    """A kind of secret, looked for only where one of the keywords (short patterns on the lower case; none = always) and `needs` match."""

    kind: str
    view: View
    keywords: tuple[str, ...]
    pattern: Pattern
    check: Check
    needs: Pattern | None = None


def _token(kind: str, keywords: str, pattern: str, checked: Check = check.genuine) -> Rule:
    return Rule(kind, "token", tuple(keywords.split()), Pattern(pattern), checked)


LONG = Pattern("|".join(rf"[a-z0-9_./+=~%-]{{{n}}}[0-9][a-z0-9_./+=~%-]{{{11 - n}}}" for n in range(12)))
"""What a rule for keys needs: twelve characters of one with a digit among them, which a conversation seldom has."""


def prose(
    kind: str, keywords: str, pattern: str, checked: Check = check.anything, needs: Pattern | None = None
) -> Rule:
    """A row of the tables of names, which follow."""
    return Rule(kind, "prose", tuple(keywords.split()), Pattern(pattern), checked, needs)


def _text(kind: str, keywords: str, pattern: str, checked: Check = check.genuine) -> Rule:
    return Rule(kind, "text", tuple(keywords.split()), Pattern(pattern), checked)


_KEY_BLOCKS = (
    _text("private_key", "private", r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----", check.pem_block),
    _text("private_key", "begin ssh2", r"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----", check.pem_block),
    _text("private_key", "putty-user-key-file", r"PuTTY-User-Key-File-[23]: ?[a-z0-9-]{3,30}", check.putty_block),
    _text("private_key", "client-key-data", r"client-key-data: ?([A-Za-z0-9+/=]{100,})", check.anything),
    _token("private_key", "mii", r"\b(MII[A-Za-z0-9+/]{2}IBA[A-Za-z0-9+/=]{200,})", check.anything),
)

_CLOUDS = (
    _token("aws_access_key", "akia asia abia acca", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b", check.issued),
    _text(
        "aws_secret_key",
        "secret aws",
        r"(?i:secret[_ -]?(?:access[_ -]?)?key|aws[_ -]?secret)(?i:[ a-z]{0,20})[\"' ]{0,3}[:= ][=:>\"' ]{0,6}([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)",
        check.random_token,
    ),
    _token(
        "aws_session_token", "iqojb3jpz2lu fwogzxiv fqogzxiv", r"\b(?:IQoJb3JpZ2lu|F[wQ]oGZXIv)[A-Za-z0-9+/=_-]{80,}"
    ),
    _token("aws_signature", "x-amz-signature=", r"[?&]X-Amz-Signature=([0-9a-f]{64})"),
    _token(
        "aws_bedrock_key",
        "absk bedrock-api-key-",
        r"\b(?:ABSK[A-Za-z0-9+/]{90,}={0,2}|bedrock-api-key-[A-Za-z0-9+/=]{60,})",
    ),
    _token("azure_storage_key", "key=", r"\b(?:Account|SharedAccess|Shared)Key=([A-Za-z0-9+/]{40,}={0,2})"),
    _token("azure_client_secret", "q~", r"(?:^|[^A-Za-z0-9_~.-])([A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34})"),
    _token("azure_sas_signature", "sig=", r"[?&;]sig=([A-Za-z0-9%+/]{40,}(?:=|%3[Dd])?)"),
    _token("azure_devops_token", "azdo", r"\b[A-Za-z0-9]{72,}AZDO[A-Za-z0-9]{4}\b"),
    _token("google_api_key", "aiza", r"\bAIza[A-Za-z0-9_-]{35}"),
    _token("google_oauth_secret", "gocspx-", r"\bGOCSPX-[A-Za-z0-9_-]{20,40}"),
    _token("google_oauth_token", r"ya29\.", r"\bya29\.[A-Za-z0-9_-]{20,}"),
    _token("google_refresh_token", "1//0", r"(?:^|[^0-9A-Za-z/])1//0[A-Za-z0-9_-]{30,}"),
    _token("google_fcm_key", ":apa91b", r"\b(?:AAAA[A-Za-z0-9_-]{7}:)APA91b[A-Za-z0-9_-]{60,}"),
    _token("digitalocean_token", "_v1_", r"\bdo[opr]_v1_[a-f0-9]{64}"),
    _token("cloudflare_key", "v1.0-", r"\bv1\.0-[0-9a-f]{24}-[0-9a-f]{100,}"),
    _token("cloudflare_key", "cfut_ cfat_ cfk_", r"\bcf(?:ut|at|k)_[A-Za-z0-9]{30,}"),
    _token("alibaba_access_key", "ltai", r"\bLTAI[A-Za-z0-9]{16,24}\b"),
    _token("tencent_secret_id", "akid", r"\bAKID[A-Za-z0-9]{30,40}\b"),
    _token("yandex_token", "y0_ y1_ y2_ y3_", r"\by[0-3]_[A-Za-z0-9_-]{30,}"),
    _token(
        "yandex_token",
        "aqvn yc t1[.]",
        r"\b(?:AQVN[A-Za-z0-9_-]{35,38}|YC[A-Za-z0-9_-]{38}|t1\.[A-Z0-9a-z_-]{20,}={0,2}\.[A-Z0-9a-z_-]{86}={0,2})(?:[^A-Za-z0-9_-]|$)",
        check.random_token,
    ),
    _token("scaleway_key", "scw", r"\bSCW[A-Z0-9]{17}\b"),
    _token("exoscale_key", "exo", r"\bEXO[0-9a-f]{24,32}\b"),
    _token("heroku_key", "hrku-", r"\bHRKU-[A-Za-z0-9_-]{32,}"),
    _token("flyio_token", "fm1 fm2 fo1", r"\b(?:fm[12][ar]?_|fo1_)[A-Za-z0-9+/=_-]{30,}"),
    _token("render_key", "rnd_", r"\brnd_[A-Za-z0-9]{24,60}\b"),
    _token("netlify_token", "nfp_ nfc_ nfo_ nfu_", r"\bnf[pcou]_[A-Za-z0-9]{30,60}"),
    _token(
        "vercel_token",
        "vcp_ vca_ vci_ vck_ vcr_ vercel_blob",
        r"\b(?:vc[pcaikr]_[A-Za-z0-9]{24,}|vercel_blob_rw_[A-Za-z0-9_]{30,})",
    ),
    _token(
        "supabase_token", "sbp_ sb_secret_", r"\bsb(?:p_[a-f0-9]{40}|p_oauth_[a-f0-9]{40}|_secret_[A-Za-z0-9_-]{20,60})"
    ),
    _token("planetscale_token", "pscale_", r"\bpscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,64}"),
    _token("neon_key", "napi_", r"\bnapi_[a-z0-9]{40,}"),
    _token("mongodb_service_secret", "mdb_sa_sk_", r"\bmdb_sa_sk_[A-Za-z0-9_-]{30,60}"),
    _token("aiven_password", "avns_ aivenv1", r"\b(?:AVNS_[A-Za-z0-9_-]{16,30}|aivenv1[A-Za-z0-9+/=]{200,})"),
    _token("cockroach_key", "ccdb1_", r"\bCCDB1_[A-Za-z0-9]{22}_[A-Za-z0-9]{40}"),
    _token("xata_key", "xau_", r"\bxau_[A-Za-z0-9]{30,}"),
    _token("snyk_token", "snyk_", r"\bsnyk_[a-z]{2,5}\.[A-Za-z0-9._-]{30,}"),
    _token("fauna_secret", "fna", r"\bfnA[A-Za-z0-9_-]{37,50}\b", check.random_token),
    _token("tailscale_key", "tskey-", r"\btskey-[a-z]{3,12}-[A-Za-z0-9-]{16,}"),
    _token("databricks_token", "dapi dose dkea", r"\b(?:dapi|dose|dkea)[a-f0-9]{32}(?:-[0-9])?\b"),
    _token("kubernetes_token", "sha256~", r"\bsha256~[A-Za-z0-9_-]{40,50}"),
    _token(
        "kubernetes_bootstrap_token",
        "token",
        r"(?i:bootstrap|kubeadm|--token|discovery)[^\n]{0,60}\b([a-z0-9]{6}\.[a-z0-9]{16})\b",
        check.random_token,
    ),
)

_CODE = (
    _token("github_token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{30,}"),
    _token("github_token", "github_pat_", r"github_pat_[A-Za-z0-9_]{30,}"),
    _token("github_token", "v1[.]", r"\bv1\.[0-9a-f]{40}\b"),
    _token(
        "gitlab_token",
        "gl[a-z]{1,5}-",
        r"\bgl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|soat|oas|ffct|wt)-[A-Za-z0-9_.-]{20,}",
    ),
    _token(
        "gitlab_token", "gr1348941 _gitlab_session=", r"\bGR1348941[A-Za-z0-9_-]{20,30}|_gitlab_session=([0-9a-f]{32})"
    ),
    _token("bitbucket_password", "atbb", r"\bATBB[A-Za-z0-9]{24,40}\b"),
    _token("atlassian_token", "atatt atctt atstt", r"\bAT[ACS]TT3[A-Za-z0-9_=-]{50,}"),
    _token("npm_token", "npm_", r"\bnpm_[A-Za-z0-9]{36}\b"),
    _token("pypi_token", "pypi-", r"\bpypi-[A-Za-z0-9_-]{40,}"),
    _token("rubygems_key", "rubygems_", r"\brubygems_[a-f0-9]{48}"),
    _token("nuget_key", "oy2", r"\boy2[a-z0-9]{43}\b"),
    _token("crates_token", "cio", r"\bcio[A-Za-z0-9]{32}\b", check.random_token),
    _token("clojars_token", "clojars_", r"\bCLOJARS_[a-z0-9]{60}"),
    _token("hex_key", "hex_", r"\bhex_[A-Za-z0-9]{30,60}\b", check.random_token),
    _token("docker_token", "dckr_", r"\bdckr_[po]at_[A-Za-z0-9_-]{24,60}"),
    _token("artifactory_key", "akc cmvmd", r"\b(?:AKC[a-z][A-Za-z0-9]{60,}|cmVmd[A-Za-z0-9]{59})\b"),
    _token(
        "jetbrains_token",
        "perm: perm-",
        r"\bperm[:-][A-Za-z0-9+/=_-]{10,60}\.[A-Za-z0-9+/=_-]{4,60}\.[A-Za-z0-9]{20,60}",
    ),
    _token("circleci_token", "ccipat_ cciprj_", r"\bCCI(?:PAT|PRJ)_[A-Za-z0-9]{16,30}_[0-9a-f]{40}"),
    _token("buildkite_token", "bkua_ bkct_ bkat_ bkpt_", r"\bbk(?:ua|ct|at|pt)_[A-Za-z0-9]{30,}"),
    _token("jenkins_token", "jenkins", r"(?i:jenkins)[^\n]{0,}\b(11[0-9a-f]{32})\b"),
    _token(
        "travis_token",
        "travis",
        r"(?i:travis)[^\n]{0,60}(?i:token)[^\n]{0,20}\b([A-Za-z0-9_-]{22})\b",
        check.random_token,
    ),
    _token("harness_token", "pat. sat.", r"\b[ps]at\.[A-Za-z0-9_-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}"),
    _token("octopus_key", "api-", r"\bAPI-[A-Z0-9]{25,32}\b", check.random_token),
    _token("sonar_token", "sqp_ squ_ sqa_ sqb_", r"\bsq[puab]_[a-f0-9]{40}"),
    _token("sourcegraph_token", "sgp_ sgd_", r"\bsg[pd]_(?:[a-f0-9]{16}_|local_)?[a-f0-9]{40,64}"),
    _token(
        "snyk_token",
        "snyk",
        r"(?i:snyk)[_ a-z-]{0,12}(?i:token)[\"' ]{0,2}[:= ]{1,3}[\"']?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})",
    ),
    _token("terraform_token", "atlasv1", r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{50,}"),
    _token("vault_token", r"hv[sbr]\.", r"\bhv[sbr]\.[A-Za-z0-9_-]{24,}"),
    _token("vault_token", "s[.][0-9a-z]{12}", r"\bs\.[A-Za-z0-9]{24}\b", check.random_token),
    _text(
        "ansible_vault",
        r"\$ansible_vault;",
        r"\$ANSIBLE_VAULT;[0-9.]{3};AES256[^\n]{0,40}\n[0-9a-f\s]{60,}",
        check.anything,
    ),
    _token("pulumi_token", "pul-", r"\bpul-[a-f0-9]{40}\b"),
    _token("doppler_token", "dp.", r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{30,}"),
    _token("infracost_key", "ico-", r"\bico-[A-Za-z0-9]{32}\b"),
    _token("prefect_key", "pnu_ pnb_", r"\bpn[ub]_[A-Za-z0-9]{36}\b"),
    _token(
        "launchdarkly_key",
        "(?:sdk|api|mob)-[0-9a-f]",
        r"\b(?:sdk|api|mob)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b",
    ),
    _token("postman_key", "pmak-", r"\bPMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    _token("readme_key", "rdme_", r"\brdme_[a-z0-9]{60,}"),
    _token("figma_token", "figd_ figu_ figdr_", r"\bfig(?:d|u|dr)_[A-Za-z0-9_-]{36,60}"),
    _token("onepassword_token", "ops_eyj", r"\bops_eyJ[A-Za-z0-9_=-]{40,}"),
    _token(
        "onepassword_secret_key",
        "a3-",
        r"\bA3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}\b",
    ),
    _token("age_secret_key", "age-secret-key-", r"\bAGE-SECRET-KEY-1[0-9A-Z]{50,60}"),
    _token("jwt", "eyj", r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{8,}"),
    _token(
        "jwt",
        "eyj",
        r"\beyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{0,}\.[A-Za-z0-9_-]{10,40}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{16,40}",
    ),
    _token("paseto", r"v[1-4]\.(?:local|public)\.", r"\bv[1-4]\.(?:local|public)\.[A-Za-z0-9_-]{40,}"),
)

_MODELS = (
    _token("anthropic_key", "sk-ant-", r"\bsk-ant-[A-Za-z0-9_-]{20,}"),
    _token("openrouter_key", "sk-or-", r"\bsk-or-v[0-9]-[A-Za-z0-9]{32,}"),
    _token("langfuse_key", "sk-lf-", r"\bsk-lf-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    _token("openai_key", "sk-", r"\bsk-[A-Za-z0-9_-]{20,}", check.random_token),
    _token("openai_session", "sess-", r"\bsess-[A-Za-z0-9]{40}\b"),
    _token("huggingface_token", "hf_ api_org_", r"\b(?:hf|api_org)_[A-Za-z0-9]{30,60}\b"),
    _token("groq_key", "gsk_", r"\bgsk_[A-Za-z0-9]{40,60}"),
    _token("perplexity_key", "pplx-", r"\bpplx-[A-Za-z0-9]{40,60}"),
    _token("xai_key", "xai-", r"\bxai-[A-Za-z0-9]{60,}"),
    _token("replicate_token", "r8_", r"\br8_[A-Za-z0-9]{36,40}\b"),
    _token("langsmith_key", "lsv2_ ls__", r"\b(?:lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}|ls__[a-f0-9]{32})"),
    _token("together_key", "tgp_v1_", r"\btgp_v1_[A-Za-z0-9_-]{36,60}"),
    _token("fireworks_key", "fw_", r"\bfw_[A-Za-z0-9]{20,40}\b", check.random_token),
    _token("nvidia_key", "nvapi-", r"\bnvapi-[A-Za-z0-9_-]{40,}"),
    _token("pinecone_key", "pcsk_", r"\bpcsk_[A-Za-z0-9]{4,10}_[A-Za-z0-9]{40,}"),
    _token("elevenlabs_key", "sk_", r"\bsk_[0-9a-f]{48}\b"),
    _token("tavily_key", "tvly-", r"\btvly-(?:dev-|prod-)?[A-Za-z0-9]{20,60}"),
    _token("jina_key", "jina_", r"\bjina_[A-Za-z0-9]{32}[A-Za-z0-9_-]{10,40}"),
    _token("voyage_key", "pa-", r"\bpa-[A-Za-z0-9_-]{43}\b", check.random_token),
    _token("firecrawl_key", "fc-", r"\bfc-[0-9a-f]{32}\b"),
    _token("cerebras_key", "csk-", r"\bcsk-[a-z0-9]{40,60}\b"),
    _token("wandb_key", "wandb_", r"\bwandb_v1_[A-Za-z0-9_-]{40,}"),
    _token("e2b_key", "e2b_", r"\be2b_[0-9a-f]{40}\b"),
)

_MESSAGES = (
    _token("slack_token", "xox", r"\bxox[abcdeoprs](?:\.xox[bp])?-[A-Za-z0-9%-]{10,}"),
    _token("slack_token", "xapp-", r"\bxapp-[0-9]-[A-Za-z0-9-]{20,}"),
    _token(
        "slack_webhook",
        "hooks.slack",
        r"\bhooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{20,})",
    ),
    _token(
        "discord_webhook",
        "/webhooks/",
        r"\b(?:discord(?:app)?\.com)/api/(?:v[0-9]{1,2}/)?webhooks/([0-9]{15,22}/[A-Za-z0-9_-]{40,})",
    ),
    _token(
        "discord_token",
        "",
        r"\b(?:[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{27,45}|mfa\.[A-Za-z0-9_-]{80,})",
        check.random_token,
    ),
    _token(
        "teams_webhook",
        "webhook.office.com",
        r"\bwebhook\.office\.com/webhookb2/([A-Za-z0-9@-]{60,}/IncomingWebhook/[0-9a-f]{32}/[0-9a-f-]{36})",
    ),
    _token("telegram_bot_token", ":aa", r"[0-9]{8,10}:AA[A-Za-z0-9_-]{32,35}"),
    _token("matrix_token", "syt_", r"\bsyt_[A-Za-z0-9+/=_-]{2,60}_[A-Za-z0-9]{16,30}_[A-Za-z0-9]{6}"),
    _text("twilio_auth_token", "twilio", r"(?i:twilio)[^\n]{0,60}\b([0-9a-f]{32})\b", check.random_token),
    _token("twilio_key", "sk", r"\bSK[0-9a-f]{32}\b"),
    _token("sendgrid_key", "sg[.]", r"\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    _token("mailgun_key", "key-", r"\bkey-[0-9a-f]{32}\b"),
    _token("mailgun_key", "", r"\b[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}\b"),
    _token("mailchimp_key", "-us[0-9]", r"\b[0-9a-f]{32}-us[0-9]{1,2}\b"),
    _token("mandrill_key", "md-", r"\bmd-[A-Za-z0-9_-]{22}\b", check.random_token),
    _token("mailersend_key", "mlsn.", r"\bmlsn\.[0-9a-f]{60,}"),
    _token("brevo_key", "xkeysib- xsmtpsib-", r"\bx(?:key|smtp)sib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    _token("resend_key", "re_", r"\bre_[A-Za-z0-9]{6,10}_[A-Za-z0-9]{20,40}\b"),
    _token("intercom_token", "dg9ro", r"\bdG9rO[A-Za-z0-9+/]{40,}={0,2}"),
    _token("hubspot_token", "pat-", r"\bpat-(?:na|eu|ap)[0-9]{0,2}-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    _token("typeform_token", "tfp_", r"\btfp_[A-Za-z0-9_.=-]{40,}"),
    _token("airtable_token", "pat", r"\bpat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    _token("asana_token", "/", r"\b[0-9]/[0-9]{10,20}(?:/[0-9]{10,20})?:[0-9a-f]{32}\b"),
    _token("linear_key", "lin_", r"\blin_(?:api|oauth|wh)_[A-Za-z0-9]{32,64}"),
    _token("notion_token", "ntn_", r"\bntn_[A-Za-z0-9]{40,60}"),
    _token("notion_token", "secret_", r"\bsecret_[A-Za-z0-9]{43}\b"),
    _token("clickup_token", "pk_", r"\bpk_[0-9]{5,10}_[A-Z0-9]{32}\b"),
    _token("trello_token", "atta", r"\bATTA[0-9a-f]{60,}"),
    _token("contentful_token", "cfpat-", r"\bCFPAT-[A-Za-z0-9_-]{40,50}"),
    _token("twitch_token", "oauth:", r"\boauth:[a-z0-9]{30}\b"),
    _token("twitter_bearer", "aaaaaaaaaa", r"\bA{18,24}[A-Za-z0-9%+/]{20,60}(?:%3D|=)?[A-Za-z0-9%+/]{30,}"),
    _token("twitter_token", "", r"\b[0-9]{9,20}-[A-Za-z0-9]{40,45}\b", check.random_token),
    _token("facebook_token", "eaa igqv", r"\b(?:EAA|IGQV)[A-Za-z0-9_-]{90,}"),
    _token("linkedin_secret", "wpl_ap1.", r"\bWPL_AP1\.[A-Za-z0-9]{10,30}\.[A-Za-z0-9+/=]{4,12}"),
    _token("dropbox_token", "sl[.]", r"\bsl\.(?:u\.)?[A-Za-z0-9_-]{60,}"),
    _token("apify_key", "apify_api_", r"\bapify_api_[A-Za-z0-9]{30,50}"),
    _token("lichess_token", "lip_", r"\blip_[A-Za-z0-9]{16,40}\b", check.random_token),
    _token("courier_key", "pk_prod_ pk_test_", r"\bpk_(?:prod|test)_[A-Z0-9]{28}\b"),
)

_MONEY = (
    _token("stripe_key", "sk_ rk_", r"\b[sr]k_(?:live|test|prod)_[A-Za-z0-9]{10,}"),
    _token("stripe_webhook_secret", "whsec_", r"\bwhsec_[A-Za-z0-9+/=]{24,}"),
    _token("square_token", "sq0", r"\bsq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,50}"),
    _token("square_token", "eaaa", r"\bEAAA[A-Za-z0-9_-]{56,64}", check.random_token),
    _token("paypal_token", r"access_token\$", r"\baccess_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[0-9a-f]{32}"),
    _token("paypal_token", "a21aa", r"\bA21AA[A-Za-z0-9_-]{60,}"),
    _token("razorpay_key", "rzp_", r"\brzp_(?:live|test)_[A-Za-z0-9]{14,20}"),
    _token("shopify_token", "shp", r"\bshp(?:at|ca|pa|ss|tka)_[a-fA-F0-9]{32}"),
    _token("easypost_key", "ezak eztk", r"\bEZ[AT]K[A-Za-z0-9]{54}\b"),
    _token("flutterwave_key", "flwseck", r"\bFLWSECK(?:_TEST)?-[A-Za-z0-9]{12,40}(?:-X)?"),
    _token("paddle_key", "pdl_", r"\bpdl_(?:live|sdbx)_apikey_[A-Za-z0-9_]{30,}"),
    _token(
        "plaid_token",
        "access-",
        r"\baccess-(?:sandbox|development|production)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    ),
    _token("shippo_token", "shippo_", r"\bshippo_(?:live|test)_[a-f0-9]{40}"),
    _token("duffel_token", "duffel_", r"\bduffel_(?:live|test)_[A-Za-z0-9_-]{40,60}"),
    _token("lob_key", "live_ test_", r"\b(?:live|test)_[a-f0-9]{35}\b"),
    _token("mollie_key", "live_ test_", r"\b(?:live|test)_[A-Za-z0-9]{30,34}\b", check.random_token),
    _token("gocardless_token", "live_ sandbox_", r"\b(?:live|sandbox)_[A-Za-z0-9_-]{40}\b", check.random_token),
    _token(
        "adyen_key",
        "aqe",
        r"\bAQE[A-Za-z0-9]{1,8}[A-Za-z0-9+/]{60,}=*-[A-Za-z0-9+/]{30,60}=?-[^\s\"']{10,30}",
    ),
    _token(
        "bitcoin_key",
        "",
        r"\b(?:[KL][1-9A-HJ-NP-Za-km-z]{51}|5[HJK][1-9A-HJ-NP-Za-km-z]{49})\b",
        number.base58_checked,
    ),
    _token("bitcoin_key", "6p", r"\b6P[1-9A-HJ-NP-Za-km-z]{56}\b", number.base58_checked),
    _token("wallet_extended_key", "prv", r"\b[xyzt]prv[1-9A-HJ-NP-Za-km-z]{100,}\b"),
    _token("nostr_key", "nsec1", r"\bnsec1[02-9ac-hj-np-z]{58}\b"),
    _token("stellar_seed", "", r"\bS[A-Z2-7]{55}\b", check.random_token),
)

_WATCHING = (
    _token(
        "new_relic_key",
        "nra nri nrj nral",
        r"\b(?:NRA[KA][-L][A-Z0-9]{20,32}|NRI[IQ]-[A-Za-z0-9_-]{32}|NRJS-[a-f0-9]{19}|[0-9a-f]{30,36}(?:FFFF)?NRAL)\b",
    ),
    _token("grafana_token", "glsa_ glc_", r"\bgl(?:sa|c)_[A-Za-z0-9+/=_]{32,}"),
    _token("grafana_token", "eyjrijoi", r"\beyJrIjoi[A-Za-z0-9]{60,}={0,2}"),
    _token("sentry_token", "sntry", r"\bsntry[suai]_[A-Za-z0-9+/=_]{40,}"),
    _token("dynatrace_token", "dt0", r"\bdt0[a-z][0-9]{2}\.[A-Z0-9]{8,24}\.[A-Z0-9]{40,64}"),
    _token("datadog_key", "ddapp_ ddapi_", r"\bdda(?:pp|pi)_[A-Za-z0-9]{30,50}"),
    _token("posthog_key", "phx_", r"\bphx_[A-Za-z0-9]{40,50}"),
    _token("mapbox_token", "sk.eyj", r"\bsk\.eyJ[A-Za-z0-9_-]{40,}\.[A-Za-z0-9_-]{20,30}"),
    _token(
        "okta_token",
        "ssws okta",
        r"(?:\bSSWS |(?i:okta)[^\n]{0,60}[^A-Za-z0-9_-])(00[A-Za-z0-9_-]{40})",
        check.random_token,
    ),
    _token("dnkey", "dnkey-", r"\bdnkey-[A-Za-z0-9=_-]{26}-[A-Za-z0-9=_-]{50,60}"),
    _token("scalingo_token", "tk-us-", r"\btk-us-[A-Za-z0-9_-]{48}\b"),
)

_ADDRESSES = (
    _text("basic_auth_url", "http", r"\bhttps?://[^\s:@/\x00\"']{0,80}:([^\s@/\x00\"']{2,200})@", check.url_password),
    _text("basic_auth_url", "http", r"\bhttps?://([A-Za-z0-9_-]{20,200})@[A-Za-z0-9]", check.random_token),
    _text(
        "connection_string",
        "://",
        r"\b[A-Za-z][A-Za-z0-9+.-]{1,24}://[^\s:@/\x00\"']{0,80}:([^\s@\x00\"']{2,200})@[A-Za-z0-9\[]",
        check.url_password,
    ),
    _token("authorization", "bearer", r"\b(?i:bearer)[ :]{1,3}([A-Za-z0-9._~+/=-]{20,})", check.random_token),
    _token(
        "authorization",
        "basic",
        r"\b(?i:authorization)[\"']?[:=,] {0,3}[\"']?(?i:basic) {1,3}([A-Za-z0-9+/=]{8,})",
        check.pair_in_base64,
    ),
    _token(
        "authorization",
        "authorization",
        r"\b(?i:authorization)[\"']?[:=,] {0,3}[\"']?(?:[A-Za-z][A-Za-z-]{1,20}[ =]{1,2})?(?:token=\"?)?([A-Za-z0-9._~+/=:-]{16,})",
        check.random_token,
    ),
    _token(
        "docker_auth",
        "auth",
        r"\"_?auth\": ?\"([A-Za-z0-9+/]{8,}={0,2})\"|(?i:_auth) ?= ?\"?([A-Za-z0-9+/]{8,}={0,2})",
        check.pair_in_base64,
    ),
    _text("totp_seed", "otpauth://", r"otpauth://[^\s\"']{0,200}[?&]secret=([A-Za-z2-7=]{16,128})", check.anything),
    _text("wifi_password", "wifi:", r"\bWIFI:[^\s]{0,80};P:((?:[^;\\\n]|\\.){4,80});", check.anything),
    _text(
        "pgpass",
        ":[0-9*]+:",
        r"(?:^|\n)[a-z0-9][A-Za-z0-9.-]{0,80}:(?:[0-9]{2,5}|\*):[A-Za-z0-9_*-]{1,63}:[A-Za-z0-9_.-]{1,63}:([^\s:]{6,128})(?:\n|$)",
        check.strange,
    ),
)

_HASHES = (
    _text(
        "password_hash",
        r":[$][0-9a-z]",
        r"(?:^|[\s\"'])[A-Za-z0-9_.@-]{1,64}:(\$(?:1|5|6|7|y|gy|apr1|2[abxy]|argon2(?:id|i|d)|scrypt)\$[^\s:\"']{20,400})",
    ),
    _text(
        "password_hash",
        ":[{]s :[{]md5 :[{]crypt",
        r"(?:^|[\s\"'])[A-Za-z0-9_.@-]{1,64}:(\{(?i:s?sha(?:256|384|512)?|s?md5|crypt)\}[A-Za-z0-9+/=$.]{13,160})",
    ),
)
"""Lines of password files: who, and what the password was made into."""
_DIGITS = (
    r"\b(?:[0-9]{9,12}|[0-9]{2} [0-9]{3} [0-9]{3} [0-9]{3}|[0-9]{3}-[0-9]{3}-[0-9]{3}[ -][0-9]{2}|[0-9]{3}\.[0-9]{3}\.[0-9]{3}[-/.][0-9]{2}"
    r"|[0-9]{4}[ -][0-9]{4}[ -][0-9]{4}|[0-9]{3}-[0-9]{2}-[0-9]{4})\b"
)
"""An id of digits, together or in the groups of one of the countries of `secret_ids`."""
_FIGURE = "[0-9L-NP-Vl-np-v]"
"""A digit of an Italian code, or the letter that stands for it where two people would have the same code."""
_NUMBERS = (
    _text("credit_card", "", r"\b[2-6](?:[ -]?[0-9]){12,18}\b", number.card_number),
    _text(
        "iban",
        "",
        r"\b[A-Z]{2}[0-9]{2}(?:[ -]?[A-Z0-9]{1,4}){3,12}",
        number.iban,
    ),
    _text("national_id", "", _DIGITS, ids.national_number),
    _text("national_id", "", r"\b[1-8][0-9]{16}[0-9Xx]\b", ids.chinese_number),
    _text(
        "national_id",
        "",
        r"\b[1-478][ .-]?[0-9]{2}[ .-]?[0-9]{2}[ .-]?(?:[0-9]{2}|2[ABab])[ .-]?[0-9]{3}[ .-]?[0-9]{3}[ .-]?[0-9]{2}\b",
        ids.french_number,
    ),
    _text(
        "national_id",
        "",
        r"\b(?:[0-9]{8}|[0-9]{2}\.[0-9]{3}\.[0-9]{3}|[XYZxyz]-?[0-9]{7})(?:-?[A-Za-z]| [A-Z])\b",
        ids.spanish_number,
    ),
    _text(
        "national_id",
        "",
        rf"\b[A-Za-z]{{6}} ?{_FIGURE}{{2}}[A-EHLMPR-Ta-ehlmpr-t]{_FIGURE}{{2}} ?[A-Za-z]{_FIGURE}{{3}}[A-Za-z]\b",
        ids.italian_code,
    ),
    _text("national_id", "", r"\b[A-Za-z]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-Da-d]\b", ids.british_number),
)

VENDORS: tuple[Rule, ...] = (
    *_KEY_BLOCKS,
    *_CLOUDS,
    *_CODE,
    *_MODELS,
    *_MESSAGES,
    *_MONEY,
    *_WATCHING,
    *_ADDRESSES,
    *_HASHES,
)
"""What has a form of its own, most telling first."""
NUMBERS: tuple[Rule, ...] = _NUMBERS
"""What only its check digits tell from a number."""
WALLET = _text("seed_phrase", "", r"\b[a-z]{3,8}(?:[ \n][a-z]{3,8}){11,23}\b", seeds.bare)
"""Words without a word for what they are: asked for where the lengths of a text's words allow it."""
