"""Words with a meaning in law or in an agreement: legal bases of the LGPD and the purposes data may be used for."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class LegalBasis(models.TextChoices):
    """LGPD (Law 13,709/2018), art. 7 for personal data, art. 11 for sensitive ones; the code is article and item."""

    CONSENT = "7-I", _("art. 7, I: consent")
    DUTY = "7-II", _("art. 7, II: legal or regulatory duty of the controller")
    POLICY = "7-III", _("art. 7, III: public policies")
    RESEARCH = "7-IV", _("art. 7, IV: studies by a research body")
    CONTRACT = "7-V", _("art. 7, V: contract with the data subject")
    CLAIMS = "7-VI", _("art. 7, VI: exercise of rights in proceedings")
    LIFE = "7-VII", _("art. 7, VII: protection of life")
    HEALTH = "7-VIII", _("art. 7, VIII: protection of health, by health professionals or services")
    INTEREST = "7-IX", _("art. 7, IX: legitimate interest")
    CREDIT = "7-X", _("art. 7, X: protection of credit")
    S_CONSENT = "11-I", _("art. 11, I: specific consent")
    S_DUTY = "11-II-a", _("art. 11, II, a: legal or regulatory duty of the controller")
    S_POLICY = "11-II-b", _("art. 11, II, b: public policies")
    S_RESEARCH = "11-II-c", _("art. 11, II, c: studies by a research body")
    S_CLAIMS = "11-II-d", _("art. 11, II, d: exercise of rights, also in proceedings")
    S_LIFE = "11-II-e", _("art. 11, II, e: protection of life")
    S_HEALTH = "11-II-f", _("art. 11, II, f: protection of health, by health professionals or services")
    S_FRAUD = "11-II-g", _("art. 11, II, g: prevention of fraud and safety of the data subject")


class Purpose(models.TextChoices):
    """What a permission to use is for, and what an agreement allows: few, so that one can be held against the other."""

    RESEARCH = "research", _("research")
    METHODS = "methods", _("development of methods and software")
    VALIDATION = "validation", _("validation and comparison")
    TEACHING = "teaching", _("teaching")
    SERVICE = "service", _("service to the public")
